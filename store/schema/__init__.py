"""What a store holds: names, dims, dtypes, chunks and meanings of all arrays; the interface of ingest and dashboard."""
