"""A transaction that other processes write parts of: each writes whole chunks to its fork, one process commits them."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

import zarr
from icechunk import ConflictDetector, ForkSession, RebaseFailedError, Session
from zarr.abc.store import Store

from store.repository.access import chunks_of, local_path
from store.repository.errors import StoreError


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
    """What another process writes. It can be sent there and back; it can write chunks, and create or resize nothing.

    A fork sees what was committed before it was made. Two forks of a transaction must never write the same chunk: the
    last one that is joined would win. Forks of two transactions may not either, and there joining the second raises.
    """

    def __init__(self, session: ForkSession, url: str) -> None:
        super().__init__(chunks_of(session, url))
        self.session, self.url = session, url

    def __getstate__(self) -> tuple[ForkSession, str]:
        return self.session, self.url

    @property
    def is_there(self) -> bool:
        """Whether this process can read the store, as far as that is known without a request: icechunk would make a folder."""
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
        """A part for another process."""
        return Fork(self.session.fork(), self.url)

    def merge(self, forks: Iterable[Fork], *, tip: str) -> None:
        """Add what the forks wrote, and move the transaction onto the newest commit `tip`.

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
