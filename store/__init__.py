"""The store: defines what each stored number means, and reads the numbers as labelled arrays.

The ingest writes the store and the dashboard reads it; they share no other data. Imports neither torch nor Dash.
"""

from store.corpus import Corpus
from store.repository.errors import StoreError
from store.results import best_heads
from store.schema.model import STATISTICS
from store.snapshot import Snapshot, open_corpus, open_snapshot

__all__ = ["STATISTICS", "Corpus", "Snapshot", "StoreError", "best_heads", "open_corpus", "open_snapshot"]
