"""What the server has open: the snapshot readers should see now, older ones that links still ask for, and models to type to."""

import shutil
import tempfile
import weakref
from functools import cached_property
from pathlib import Path
from threading import Lock

from cachetools import LRUCache

from dashboard.sentence.encoder import SentenceEncoder, TypedSentences
from dashboard.statistics.count_progress import CountProgress
from dashboard.statistics.part_counts import PartCounts
from store import Snapshot
from store.errors import SnapshotNotFound
from store.repository.access import open_repository
from store.repository.history import check_snapshot, published_snapshot
from store.repository.progress import IngestProgress, ingest_progress

#: Bytes that open snapshots may come to: the newest and those of tabs opened before it.
BUDGET = 96 << 20
#: Bytes of a token and of a sentence, once all columns of an opened corpus have been read.
TOKEN_BYTES, SENTENCE_BYTES = 24, 256


class Library:
    """Opens snapshots of one store. A new publication is noticed at the next request: asking costs 0.05 ms.

    `shared` is a folder for what the processes of a server know together; without it one is made when needed. Typed
    sentences are encoded in this process unless an `encoder` is given.
    """

    def __init__(self, url: str, shared: Path | None = None, encoder: SentenceEncoder | None = None) -> None:
        self.url = url
        self._shared = shared
        self.typed = TypedSentences(encoder)
        self._repository = open_repository(url)
        self._open: LRUCache[str, Snapshot] = LRUCache(BUDGET, opened_size)
        self._lock = Lock()

    @cached_property
    def _folder(self) -> Path:
        if self._shared is not None:
            return self._shared
        folder = Path(tempfile.mkdtemp(prefix="headscape-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder

    @cached_property
    def counts(self) -> PartCounts:
        """Numbers of parts of the corpora."""
        return PartCounts(self._folder)

    @cached_property
    def progress(self) -> CountProgress:
        """How far counts are that pages wait for."""
        return CountProgress(self._folder)

    @property
    def ingest(self) -> IngestProgress | None:
        """How far the ingest is that writes the store now; None where none does, or nobody can tell."""
        return ingest_progress(self.url)

    @property
    def newest(self) -> str:
        """Id of the snapshot readers should see now."""
        return published_snapshot(self._repository, self.url)

    def snapshot(self, name: str | None = None) -> Snapshot:
        """A snapshot by its id, or the newest. What one response shows comes from one of these.

        Raises
        ------
        SnapshotNotFound
            Where there is no such snapshot, or not any more: it may have expired since it was opened.
        """
        if name:
            self._check(name)
        asked = name or self.newest
        with self._lock:
            found: Snapshot | None = self._open.get(asked)
        return found or self._add(asked, Snapshot(self._repository, self.url, asked))

    def _add(self, name: str, opened: Snapshot) -> Snapshot:
        """Two threads may both open it; both get the same, with what is loaded of it."""
        with self._lock:
            kept: Snapshot = self._open.setdefault(name, opened)
            return kept

    def _check(self, name: str) -> None:
        try:
            check_snapshot(self._repository, self.url, name)
        except SnapshotNotFound:
            with self._lock:
                self._open.pop(name, None)
            raise


def opened_size(snapshot: Snapshot) -> int:
    """Bytes that a snapshot comes to when the columns of all its corpora are read; at most the budget, so that one fits."""
    corpora = snapshot.models.values()
    size = sum(TOKEN_BYTES * int(one["tokens"]) + SENTENCE_BYTES * int(one["sentences"]) for one in corpora)
    return min(size, BUDGET)
