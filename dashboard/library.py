"""What the server has open: the snapshot readers should see now, older ones that links still ask for, and models to type to."""

import shutil
import tempfile
import weakref
from functools import cached_property
from pathlib import Path

from dashboard.heads.count_progress import CountProgress
from dashboard.heads.part_counts import PartCounts
from dashboard.recent import Recent
from dashboard.sentence.typed import TypedSentences
from store import Snapshot
from store.errors import SnapshotNotFound
from store.ingest_progress import IngestProgress, ingest_progress
from store.repository import check_snapshot, open_repository, published_snapshot

#: Snapshots kept open: the newest and those of tabs opened before it.
KEPT = 4


class Library:
    """Opens snapshots of one store. A new publication is noticed at the next request: asking costs 0.05 ms."""

    def __init__(self, url: str, shared: Path | None = None) -> None:
        """`shared` is a folder for what the processes of a server know together; without it one is made when needed."""
        self.url = url
        self._shared = shared
        self.typed = TypedSentences()
        self._repository = open_repository(url)
        self._open: Recent[Snapshot] = Recent(KEPT)

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
        return self._open.get(asked, lambda: Snapshot(self._repository, self.url, asked))

    def _check(self, name: str) -> None:
        try:
            check_snapshot(self._repository, self.url, name)
        except SnapshotNotFound:
            self._open.forget(name)
            raise
