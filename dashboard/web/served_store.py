"""A store as a server holds it: the newest snapshot, older snapshots that links name, and objects of the topics."""

import shutil
import tempfile
import weakref
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from threading import Lock, RLock
from typing import Protocol, Self, TypeVar

from cachetools import LRUCache, TTLCache
from icechunk import Repository

from dashboard.web.admission import WaitingLine
from dashboard.web.results import BUDGET as RESULTS
from dashboard.web.results import Cache
from store import Snapshot
from store.repository.access import local_path, open_repository
from store.repository.errors import SnapshotNotFound
from store.repository.history import check_snapshot, publication_stamp, published_snapshot, snapshot_id
from store.repository.ingest_status import IngestOutcome, IngestProgress, ingest_outcome, ingest_progress

#: Readers who may wait while a large file is made for another reader.
WAITING = 3
BUSY = "The server is busy making files for other readers. Try again in a few seconds."
#: Most bytes of a downloaded file that stay in memory while it is made and sent.
FILE_MEMORY = 1 << 20
#: Most bytes of all open snapshots: the newest, and older ones that tabs show.
BUDGET = 96 << 20
#: Number of snapshots of object storage that are remembered as existing, and seconds until object storage is asked again.
ASKED, ASK_AGAIN = 64, 1.0
#: Key of the newest snapshot's id among them.
NEWEST = "newest"
#: Bytes per token and per sentence of an opened corpus with all columns read.
TOKEN_BYTES, SENTENCE_BYTES = 24, 256


class Service(Protocol):
    """A class of which every served store has one object, made by `of`."""

    @classmethod
    def of(cls, served_store: "ServedStore") -> Self:
        """The object for a served store."""


S = TypeVar("S", bound=Service)


class ServedStore:
    """Opens snapshots of one store, and holds all objects that live as long as the server: two served stores share nothing.

    A new publication is noticed at the next request: checking takes 0.05 ms. Object storage is asked again after `ask_again` seconds.
    `shared` is a folder that the processes of a server share; `open_snapshot` opens a snapshot by its id.
    """

    def __init__(
        self,
        url: str,
        shared: Path | None = None,
        *,
        ask_again: float = ASK_AGAIN,
        open_snapshot: Callable[[Repository, str, str], Snapshot] = Snapshot,
        files: WaitingLine | None = None,
        file_memory: int = FILE_MEMORY,
    ) -> None:
        self.url = url
        self._open_snapshot = open_snapshot
        self.cache = Cache(RESULTS)
        #: Queue for large files, which are made for one reader at a time.
        self.files = files or WaitingLine(WAITING, BUSY, name="files")
        self.file_memory = file_memory
        self._shared = shared
        self._objects: dict[type, object] = {}
        self._making = RLock()
        self._repository = open_repository(url)
        self._local = local_path(url)
        self._newest: tuple[tuple[int, int] | None, str] = None, ""
        #: Snapshots that object storage confirmed less than `ask_again` seconds ago.
        self._asked: TTLCache[str, str] = TTLCache(ASKED, ask_again)
        self._open: LRUCache[str, Snapshot] = LRUCache(BUDGET, opened_size)
        self._lock = Lock()

    @cached_property
    def folder(self) -> Path:
        """The folder that the processes of a server share; without one, a private folder."""
        if self._shared is not None:
            return self._shared
        folder = Path(tempfile.mkdtemp(prefix="headscape-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder

    def service(self, kind: type[S]) -> S:
        """The one object of a class for this served store, made when it is first needed."""
        with self._making:
            if kind not in self._objects:
                self._objects[kind] = kind.of(self)
            return self._objects[kind]  # type: ignore[return-value]

    def put(self, kind: type[S], of_topic: S) -> None:
        """Use this object of a class instead of one that the class makes."""
        with self._making:
            self._objects[kind] = of_topic

    @property
    def ingest(self) -> IngestProgress | None:
        """Progress of the ingest that writes the store now; None where no ingest runs, or none is visible."""
        return ingest_progress(self.url)

    @property
    def last_ingest(self) -> IngestOutcome | None:
        """The end of the last ingest; None where none is known."""
        return ingest_outcome(self.url)

    @property
    def newest(self) -> str:
        """Id of the newest published snapshot. In a local store, it is looked up again after a publication."""
        if self._local is None:
            return self._asked.get(NEWEST) or self._ask_newest()
        stamp, known = publication_stamp(self.url), self._newest
        if stamp is not None and stamp == known[0]:
            return known[1]
        newest = published_snapshot(self._repository, self.url)
        self._newest = stamp, newest
        return newest

    def _ask_newest(self) -> str:
        newest = published_snapshot(self._repository, self.url)
        with self._lock:
            self._asked[NEWEST] = self._asked[newest] = newest
        return newest

    def snapshot(self, name: str | None = None) -> Snapshot:
        """A snapshot by its id or the first characters that pages show, or the newest. A response reads one snapshot only.

        Raises
        ------
        SnapshotNotFound
            Where there is no such snapshot; it may have been deleted since it was opened.
        """
        name = name and snapshot_id(self._repository, self.url, name)
        key = name or self.newest
        with self._lock:
            opened: Snapshot | None = self._open.get(key)
        if name and not (opened and self._is_stored(name)):
            self._check(name)
        return opened or self._add(key, self._open_snapshot(self._repository, self.url, key))

    def _add(self, name: str, opened: Snapshot) -> Snapshot:
        """Keep an opened snapshot; if another thread has opened it meanwhile, returns that one."""
        with self._lock:
            shared: Snapshot = self._open.setdefault(name, opened)
            return shared

    def _is_stored(self, name: str) -> bool:
        """Whether a published snapshot still exists. A look at the disk takes a hundredth of the time of `_check`."""
        return name in self._asked if self._local is None else (self._local / "snapshots" / name).exists()

    def _check(self, name: str) -> None:
        try:
            check_snapshot(self._repository, self.url, name)
        except SnapshotNotFound:
            with self._lock:
                self._open.pop(name, None)
            raise
        if self._local is None:
            with self._lock:
                self._asked[name] = name


def opened_size(snapshot: Snapshot) -> int:
    """Bytes of a snapshot once the columns of all its corpora are read; at most `BUDGET`, so that any snapshot fits."""
    corpora = snapshot.models.values()
    size = sum(TOKEN_BYTES * int(corpus["tokens"]) + SENTENCE_BYTES * int(corpus["sentences"]) for corpus in corpora)
    return min(size, BUDGET)
