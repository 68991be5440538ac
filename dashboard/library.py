"""What the server has open: the snapshot readers should see now, older ones that links still ask for, and models to type to."""

from dashboard.recent import Recent
from dashboard.sentence.typed import TypedSentences
from store import Snapshot
from store.errors import SnapshotNotFound
from store.repository import check_snapshot, open_repository, published_snapshot

#: Snapshots kept open: the newest and those of tabs opened before it.
KEPT = 4


class Library:
    """Opens snapshots of one store. A new publication is noticed at the next request: asking costs 0.05 ms."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.typed = TypedSentences()
        self._repository = open_repository(url)
        self._open: Recent[Snapshot] = Recent(KEPT)

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
