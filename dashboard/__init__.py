"""Headscape's dashboard: reads the store and shows it. Imports ingest, and torch with it, only once a sentence is typed."""

import os

# Arrow reads it when it is loaded. Its own allocator keeps what Parquet files and tables of text once needed: it made up
# 148 of the 473 MB of a worker after 2,000 requests. allocator.py has freed memory of the system's go back.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
