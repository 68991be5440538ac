"""Headscape's dashboard: reads the store and shows it. Imports ingest, and torch with it, only once a sentence is typed."""

import os

# Arrow reads this variable when it is loaded. Arrow's own allocator keeps memory that Parquet files and tables of text once needed:
# 148 of the 473 MB of a worker after 2,000 requests. allocator.py returns freed memory of the system's allocator.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
