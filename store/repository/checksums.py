"""Checksums of the files of a local store, kept in its file `checksums`: icechunk checks none of what it reads.

A line is the CRC-32C of a file in hexadecimal and its path in the store. Publishing appends the files written since.
Numbers are protected twice: every chunk of an array carries a checksum of its own, which zarr checks at each read
(`store/repository/arrays.py`). Object stores check their objects themselves and have no such file.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

import google_crc32c
from icechunk import IcechunkStore, Repository
from zarr.abc.store import ByteRequest
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import WrapperStore

from store.errors import StoreCorrupt

NAME = "checksums"
FOLDERS = ("snapshots", "manifests", "transactions", "chunks")
#: Bytes of a file in memory at once.
PIECE = 1 << 22


class Checksums:
    """The checksums of a store as they were when this was made; none for an object store or an older one.

    Attributes
    ----------
    listed
        Checksum in hexadecimal by path in the store.
    """

    def __init__(self, store: Path | None) -> None:
        self._store = store
        self.listed: Mapping[str, str] = {} if store is None else _read(store)

    def check(self, path: str) -> None:
        """Raise StoreCorrupt where a file is not what it was when it was published."""
        if problem := self._problem(path):
            raise StoreCorrupt(f"A file of the store is damaged: {problem} Run `make verify` to list all damage.")

    def wrong_files(self) -> Iterator[str]:
        """Every listed file that is lost or differs, as one sentence each."""
        return (problem for path in self.listed if (problem := self._problem(path)))

    def _problem(self, path: str) -> str | None:
        if self._store is None or path not in self.listed:
            return None
        try:
            differs = _checksum(self._store / path) != self.listed[path]
        except FileNotFoundError:
            return f"{path} is missing."
        except (OSError, ValueError):
            return f"{path!r} cannot be read."
        return f"{path} does not match its checksum." if differs else None


def record_checksums(store: Path) -> None:
    """List every file that is not listed yet."""
    listed = _read(store)
    new = [path for path in file_stamps(store) if path not in listed]
    _write(store, {**listed, **{path: _checksum(store / path) for path in new}})


def rewrite_checksums(store: Path, before: Mapping[str, int]) -> None:
    """After an expiry: leave out what it deleted, list anew what it changed, neither of what was lost or damaged before.

    `before` are the stamps (`file_stamps`) of the files when it began.
    """
    now = file_stamps(store)
    kept = {path: checksum for path, checksum in _read(store).items() if path in now or path not in before}
    changed = {path: _checksum(store / path) for path in kept if path in now and now[path] != before.get(path)}
    _write(store, {**kept, **changed})


def file_stamps(store: Path) -> dict[str, int]:
    """When each file of the store was written, in nanoseconds, by its path."""
    stamps = {}
    for folder in FOLDERS:
        if (store / folder).is_dir():
            entries = os.scandir(store / folder)
            stamps.update({f"{folder}/{entry.name}": entry.stat().st_mtime_ns for entry in entries})
    return stamps


def _read(store: Path) -> dict[str, str]:
    """A damaged line names another file or another checksum, so that its check fails."""
    try:
        lines = (store / NAME).read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return {}
    pairs = (line.partition(" ") for line in lines if line)
    return {path: checksum for checksum, _, path in pairs}


def _write(store: Path, listed: Mapping[str, str]) -> None:
    """In one step, so that a reader never sees a part."""
    place = store / f"{NAME}.new"
    place.write_text("".join(f"{checksum} {path}\n" for path, checksum in listed.items()), encoding="utf-8")
    os.replace(place, store / NAME)


def _checksum(file: Path) -> str:
    total = 0
    with file.open("rb") as opened:
        while piece := opened.read(PIECE):
            total = google_crc32c.extend(total, piece)
    return f"{total:08x}"


#: Path of an array, of the key of one of its chunks.
_CHUNK = re.compile(r"(.+)/c(?:/\d+)*")


class CheckedStore(WrapperStore[IcechunkStore]):
    """A manifest says in which file each chunk is: a damaged one gives another chunk, or none, which reads as the fill value."""

    def __init__(self, store: IcechunkStore, repository: Repository, snapshot: str, checksums: Checksums) -> None:
        super().__init__(store)
        self._repository, self._snapshot, self._checksums = repository, snapshot, checksums
        self._checked: set[str] = set()

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """As zarr defines it; StoreCorrupt where a manifest of the array is damaged."""
        if chunk := _CHUNK.fullmatch(key):
            self._check(f"/{chunk[1]}")
        return await super().get(key, prototype, byte_range)

    def _check(self, array: str) -> None:
        if array not in self._checked:
            for manifest in self._manifests.get(array, ()):
                self._checksums.check(f"manifests/{manifest}")
            self._checked.add(array)

    @cached_property
    def _manifests(self) -> dict[str, list[str]]:
        """Ids of the manifests of every array, by its path."""
        nodes = json.loads(self._repository.inspect_snapshot(self._snapshot))["nodes"]
        return {node["path"]: [part["id"] for part in node.get("manifest_refs") or ()] for node in nodes}
