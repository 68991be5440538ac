"""Write a store in transactions on branch `ingest`, and publish them to readers.

Other processes may write parts of a transaction: each writes whole chunks to its fork, and one process commits all.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import icechunk
import zarr
from icechunk import ConflictDetector, ForkSession, RebaseFailedError, Repository, Session
from zarr.abc.store import Store
from zarr.storage import WrapperStore

from store.repository.access import (
    INGEST,
    MAIN,
    absolute,
    check_place,
    chunks_of,
    create_repository,
    local_path,
    writing,
)
from store.repository.checksums import record_checksums
from store.repository.errors import SchemaMismatch, StoreError
from store.repository.history import PUBLISHED
from store.repository.remote import PAUSES, commit, move_branch
from store.schema import READABLE, SCHEMA_VERSION


class Writable:
    """Groups of a store that can be written, each opened once."""

    def __init__(self, chunks: Store) -> None:
        self._chunks = chunks
        self._groups: dict[str, zarr.Group] = {}

    @property
    def root(self) -> zarr.Group:
        """Root group."""
        if "" not in self._groups:
            self._groups[""] = zarr.open_group(self._chunks, mode="r+")
        return self._groups[""]

    def group(self, path: str) -> zarr.Group:
        """A group by its path, created where it is missing; opened once."""
        if path not in self._groups:
            self._groups[path] = self.root.require_group(path)
        return self._groups[path]


class Fork(Writable):
    """The part of a transaction that another process writes. A fork can be pickled; it can write chunks, but not create or resize.

    A fork sees commits before it was made. Two forks of a transaction must never write the same chunk: the fork that is
    joined last would win. Nor may forks of two transactions: joining the second raises an error.
    """

    def __init__(self, session: ForkSession, url: str) -> None:
        super().__init__(chunks_of(session, url))
        self.session, self.url = session, url

    def __getstate__(self) -> tuple[ForkSession, str]:
        return self.session, self.url

    @property
    def is_there(self) -> bool:
        """Whether this process can read the store, checked without icechunk, which would make a missing folder."""
        path = local_path(self.url)
        return path is None or os.access(path / "snapshots" / self.session.snapshot_id, os.R_OK)

    def __setstate__(self, state: tuple[ForkSession, str]) -> None:
        Fork.__init__(self, *state)


@dataclass(frozen=True)
class ForkedTransaction:
    """A transaction with forks, made by `Writer.begin_forks` and continued by `Writer.join`."""

    session: Session
    url: str

    def fork(self) -> Fork:
        """A fork for another process."""
        return Fork(self.session.fork(), self.url)

    def merge(self, forks: Iterable[Fork], *, tip: str) -> None:
        """Add the chunks of the forks, and rebase the transaction onto the newest commit `tip`.

        Raises
        ------
        StoreError
            Where a commit since the transaction began wrote a chunk that a fork wrote too.
        """
        self.session.merge(*(fork.session for fork in forks))
        if self.session.snapshot_id == tip:
            return
        try:
            self.session.rebase(ConflictDetector())
        except RebaseFailedError as error:
            raise StoreError(
                "Two processes have written the same part of the store. Run the ingest again; it goes on from the last commit."
            ) from error


#: Number of commits that create a store: icechunk's first, and the empty groups.
CREATING = 2


class _Transaction(WrapperStore[Store]):
    """The open transaction. A group or array that was opened in a transaction need not be opened again in the next."""

    def __init__(self, session: Session, chunks: Callable[[Session], Store]) -> None:
        self._chunks = chunks
        self.begin(session)

    def begin(self, session: Session) -> None:
        """Write to this session from now on."""
        super().__init__(self._chunks(session))
        self.session = session


class Writer(Writable):
    """Writes a store in transactions, which readers do not see before `publish`."""

    def __init__(self, repository: Repository, url: str) -> None:
        self.repository = repository
        self.url = url
        self._pauses = () if local_path(url) else PAUSES
        #: Snapshot of `main`, looked up before the transaction, which therefore follows it; `main` is moved only from this snapshot.
        self._published = repository.lookup_branch(MAIN)
        self._transaction = _Transaction(repository.writable_session(INGEST), lambda session: chunks_of(session, url))
        self._tip: str = self._transaction.session.snapshot_id
        super().__init__(self._transaction)
        self._prepare_root()

    def _prepare_root(self) -> None:
        root = zarr.open_group(self._transaction, mode="a")
        version = root.attrs.get("schema_version")
        if version is None:
            root.attrs.update({"schema_version": SCHEMA_VERSION, "product": "headscape"})
            root.require_group("corpus")
            root.require_group("models")
            self.commit("new store")
        elif version not in READABLE:
            raise SchemaMismatch(
                f"{self.url} has schema {version}, this Headscape writes {SCHEMA_VERSION}. Ingest into another place with --store=..., or update Headscape."
            )
        elif version != SCHEMA_VERSION:  # the version is committed with the first change
            root.attrs["schema_version"] = SCHEMA_VERSION

    def delete(self, path: str) -> None:
        """Delete a group or an array."""
        del self.root[path]
        self._groups = {name: group for name, group in self._groups.items() if not f"{name}/".startswith(f"{path}/")}

    @property
    def committed(self) -> Store:
        """The committed chunks, for reading."""
        return chunks_of(self.repository.readonly_session(INGEST), self.url)

    @property
    def changed(self) -> bool:
        """Whether the transaction has changed anything."""
        return bool(self._transaction.session.has_uncommitted_changes)

    def commit(self, message: str, metadata: Mapping[str, Any] | None = None) -> str:
        """Commit the transaction and begin the next; returns the id of the snapshot.

        Raises
        ------
        StoreError
            Where another process has committed in the meantime.
        """
        try:
            session, pauses = self._transaction.session, self._pauses
            self._tip = commit(self.repository, session, message, metadata or {}, pauses)
            following = self.repository.writable_session(INGEST)
        except icechunk.ConflictError as error:
            raise self._overtaken("written") from error
        if following.snapshot_id != self._tip:  # the next transaction would mix both ingests
            raise self._overtaken("written")
        self._transaction.begin(following)
        return self._tip

    def _overtaken(self, done: str) -> StoreError:
        return StoreError(f"Another ingest has {done} {self.url} in the meantime. Run the ingest again.")

    def begin_forks(self) -> ForkedTransaction:
        """Begin a transaction beside the open one, whose parts other processes write. It sees all commits so far."""
        return ForkedTransaction(self.repository.writable_session(INGEST), absolute(self.url))

    def join(self, forked: ForkedTransaction, forks: Iterable[Fork]) -> None:
        """Continue with a transaction that other processes have written: the next commit commits it.

        Raises
        ------
        ValueError
            Where the open transaction has changes, which would be lost.
        StoreError
            Where a chunk was written twice, or another process has committed in the meantime.
        """
        if self.changed:
            raise ValueError("commit before joining forks: the open transaction has changes")
        # A rebase would continue from the commits of another ingest.
        if self.repository.lookup_branch(INGEST) != self._tip:
            raise self._overtaken("written")
        forked.merge(forks, tip=self._tip)
        self._transaction.begin(forked.session)

    def publish(self, message: str) -> str:
        """Publish everything committed so far to readers; returns the id of the snapshot.

        icechunk and zarr never call fsync. For a store on disk the system's buffers are therefore written first, so that a
        power cut cannot leave `main` on a snapshot whose chunks are lost.

        Raises
        ------
        StoreError
            Where another process has committed or published in the meantime.
        """
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        self.root.attrs["published"] = now
        own = self.commit(message, {PUBLISHED: now})
        if path := local_path(self.url):
            record_checksums(path)
            os.sync()
        try:
            move_branch(self.repository, MAIN, own, seen=self._published, pauses=self._pauses)
        except icechunk.ConflictError as error:
            raise self._overtaken("published") from error
        self._published = own
        return own

    @property
    def unpublished(self) -> bool:
        """Whether committed work is not published, as when an ingest was killed before it published."""
        return self._transaction.session.snapshot_id != self._published


@contextmanager
def _removed_if_refused(url: str) -> Iterator[None]:
    """Remove a new local store where an error ends the context before anything is committed."""
    path = local_path(url)
    existed = path is None or path.exists()
    new = path is not None and (not existed or not any(path.iterdir()))
    try:
        yield
    except BaseException:
        if path is not None and new and path.exists() and _is_empty(path):
            _clear(path)
            if not existed:
                path.rmdir()
        raise


def _is_empty(store: Path) -> bool:
    """Whether a store has only the commits that create it."""
    return len(list(store.glob("snapshots/*"))) <= CREATING


def _clear(folder: Path) -> None:
    for member in folder.iterdir():
        shutil.rmtree(member) if member.is_dir() else member.unlink()


@contextmanager
def open_writer(url: str) -> Iterator[Writer]:
    """Open a store to write it, and hold its lock until the end of the context; create the store where there is none.

    A new local store is removed again where an error ends the context before anything is committed.

    Raises
    ------
    StoreError
        Where another process writes the store, or it cannot be opened.
    """
    # By default zarr compares every chunk with the fill value before it writes it: half of the cost of a block.
    check_place(url)
    with writing(url), _removed_if_refused(url), zarr.config.set({"array.write_empty_chunks": True}):
        yield Writer(create_repository(url), url)
