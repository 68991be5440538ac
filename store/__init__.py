"""Headscape's store: defines what every number means, and reads it back as labelled arrays.

`ingest` writes it, `dashboard` reads it; nothing else passes between the two. Imports neither torch nor dash.
"""

from store.corpus import Corpus
from store.errors import StoreError
from store.schema.model import STATISTICS
from store.snapshot import Snapshot, open_corpus, open_snapshot

__all__ = ["STATISTICS", "Corpus", "Snapshot", "StoreError", "open_corpus", "open_snapshot"]
