"""Data files (csv, jsonl, json, parquet, txt) as one Arrow table on disk; a file is read literally, or refused with a reason."""
