"""Checksums of the files of a local store, listed in its file `checksums`, as icechunk does not check files that it reads.

A line is the CRC-32C of a file in hexadecimal and its path in the store. Publishing appends the files written since.
Numbers are protected twice: every chunk of an array carries its own checksum, which zarr checks at each read
(`store/repository/arrays.py`). Object storage checks its objects itself and has no such file.

The file `fingerprints` detects exchanged and replaced files. Every tile of a chunk file is followed by its own CRC-32C,
and the CRC-32C of bytes followed by their CRC-32C is a constant: in the list of checksums all sound shards of a shape are
equal (the 2,494 files of a default store have 11 checksums). A fingerprint is another checksum (CRC-32 of zlib) of the
first and last bytes, and the size. Each line also has time of writing and inode, so that an untouched file is not read
again, and the CRC-32 of the whole file, which `verify` compares: it detects tiles that were exchanged within a file, or
replaced in its middle. The first line has the checksum and length of the list of checksums, which publishing only
appends to; the last line is the checksum of this file.
"""

import json
import os
import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import google_crc32c
from icechunk import IcechunkStore, Repository
from zarr.abc.buffer import Buffer, BufferPrototype
from zarr.abc.store import ByteRequest
from zarr.storage import WrapperStore

from store.repository.errors import StoreCorrupt, enter_process
from store.repository.files import replace_file

LIST, FINGERPRINTS = "checksums", "fingerprints"
FOLDERS = ("snapshots", "manifests", "transactions", "chunks")
FOLDER = "chunks"
#: Bytes at each end of a file that its fingerprint covers, and bytes of a file that are in memory at once.
PIECE, READ_AT_ONCE = 4096, 1 << 22
#: Seconds after which a reader checks all files again, and seconds where names in the folder have changed.
PAUSE, SOON = 60.0, 1.0


class Checksums:
    """The listed checksums of a store, read once; empty for object storage and for stores of Headscape 0.1.

    Attributes
    ----------
    listed
        Checksum in hexadecimal by the path of the file in the store.
    """

    def __init__(self, store: Path | None) -> None:
        self._store = store
        self.listed: Mapping[str, str] = {} if store is None else _read(store)
        self._fingerprints = None if store is None else Fingerprints(store, self.listed)

    def check(self, path: str) -> None:
        """Raise StoreCorrupt where a listed file has changed since it was published.

        A file is read again only where it was written since, as a server checks the same files again and again.
        """
        if problem := self._problem(path, _known_checksum):
            if self.damage:
                raise StoreCorrupt(f"{self.damage} Run `headscape mend` to list the checksums anew.")
            raise StoreCorrupt(f"A file of the store is damaged: {problem} Run `headscape verify` to list all damage.")

    def check_chunks(self) -> None:
        """Raise StoreCorrupt where a chunk file holds the bytes of another file, whose own checksums would pass."""
        if self._fingerprints and (problem := self._fingerprints.first_replaced()):
            raise StoreCorrupt(f"A file of the store is damaged: {problem} Run `headscape verify` to list all damage.")

    @property
    def damage(self) -> str | None:
        """A finding where the list itself is damaged; else None."""
        return self._fingerprints.damage if self._fingerprints else None

    def wrong_files(self) -> Iterator[str]:
        """A finding for each listed file that is missing, has changed or holds another file's bytes, and for a damaged list."""
        if self.damage:
            yield self.damage
        else:
            yield from filter(None, (self._problem(path, checksum) for path in self.listed))
        if self._fingerprints:
            yield from self._fingerprints.replaced(every=True)

    def wrong_paths(self) -> Iterator[str]:
        """Paths of listed files that are missing or have changed."""
        return (path for path in self.listed if self._problem(path, checksum))

    def _problem(self, path: str, compute: Callable[[Path], str]) -> str | None:
        if self._store is None or path not in self.listed:
            return None
        try:
            differs = compute(self._store / path) != self.listed[path]
        except FileNotFoundError:
            return f"{path} is missing."
        except (OSError, ValueError):
            return f"{path!r} cannot be read."
        return f"{path} does not match its checksum." if differs else None


def record_checksums(store: Path, only: Set[str] | None = None) -> None:
    """Add all unlisted files, or those in `only`, to the list."""
    listed = _read(store)
    new = [path for path in file_stamps(store) if path not in listed and (only is None or path in only)]
    _write(store, listed, new=new)


def relist(store: Path) -> None:
    """List every file anew, where the lists are damaged and the files are not."""
    (store / FINGERPRINTS).unlink(missing_ok=True)
    _write(store, {}, new=list(file_stamps(store)))


def forget(store: Path, paths: Set[str]) -> None:
    """Remove files from the list that nothing needs any more."""
    _write(store, {path: known for path, known in _read(store).items() if path not in paths})


def rewrite_checksums(store: Path, before: Mapping[str, int]) -> None:
    """Update the list after an expiry: drop deleted files, and list rewritten files anew.

    Files that were missing or damaged before the expiry stay listed as they were.

    Parameters
    ----------
    before
        `file_stamps` of the store before the expiry.
    """
    now = file_stamps(store)
    listed = {path: known for path, known in _read(store).items() if path in now or path not in before}
    _write(store, listed, new=[path for path in listed if path in now and now[path] != before.get(path)])


def file_stamps(store: Path) -> dict[str, int]:
    """Time of the last write of each file of the store, in nanoseconds, by its path."""
    stamps = {}
    for folder in FOLDERS:
        if (store / folder).is_dir():
            entries = os.scandir(store / folder)
            stamps.update({f"{folder}/{entry.name}": entry.stat().st_mtime_ns for entry in entries})
    return stamps


def _read(store: Path) -> dict[str, str]:
    """The list as a dictionary. A damaged line names another file or checksum, so that its check fails."""
    try:
        lines = (store / LIST).read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return {}
    pairs = (line.partition(" ") for line in lines if line)
    return {path: known for known, _, path in pairs}


def _write(store: Path, listed: Mapping[str, str], new: Iterable[str] = ()) -> None:
    """Write the list with new files, each read once, in one step, so that readers never see half of it."""
    sums = {path: _sums(store / path) for path in new}
    listed = {**listed, **{path: known for path, (known, _) in sums.items()}}
    replace_file(store / LIST, "".join(f"{known} {path}\n" for path, known in listed.items()).encode())
    _write_fingerprints(store, listed, {path: fingerprint for path, (_, fingerprint) in sums.items()})


#: Matches the key of a chunk; its group is the path of the array.
_CHUNK = re.compile(r"(.+)/c(?:/\d+)*")


class CheckedStore(WrapperStore[IcechunkStore]):
    """The chunks of a snapshot, with the manifests of an array checked before its first chunk is read.

    A manifest names the file of each chunk: a damaged manifest leads to another chunk, or to none, which reads as the fill value.
    """

    def __init__(self, store: IcechunkStore, repository: Repository, snapshot: str, checksums: Checksums) -> None:
        super().__init__(store)
        self._repository, self._snapshot, self._checksums = repository, snapshot, checksums
        self._checked: set[str] = set()

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """Read a key, as zarr defines it. StoreCorrupt where a manifest of its array is damaged."""
        enter_process()
        if chunk := _CHUNK.fullmatch(key):
            self._check(f"/{chunk[1]}")
            self._checksums.check_chunks()
        return await super().get(key, prototype, byte_range)

    def _check(self, array: str) -> None:
        if array not in self._checked:
            for manifest in self._manifests.get(array, ()):
                self._checksums.check(f"manifests/{manifest}")
            self._checked.add(array)

    @cached_property
    def _manifests(self) -> dict[str, list[str]]:
        return manifests_of(self._repository, self._snapshot)


def manifests_of(repository: Repository, snapshot: str) -> dict[str, list[str]]:
    """Ids of the manifests of each array of a snapshot, by the path of the array."""
    nodes = json.loads(repository.inspect_snapshot(snapshot))["nodes"]
    return {node["path"]: [part["id"] for part in node.get("manifest_refs") or ()] for node in nodes}


def _known_checksum(file: Path) -> str:
    written = file.stat()
    return _checksum_at(file, written.st_mtime_ns, written.st_size)


@lru_cache(maxsize=1_024)
def _checksum_at(file: Path, _time: int, _bytes: int) -> str:
    return checksum(file)


class Fingerprint(NamedTuple):
    """Fingerprint of a file: of its ends (`holds`), its time and inode (`stamp`), and of all its bytes (`whole`; "" in older lists)."""

    holds: str
    stamp: str
    whole: str


class Fingerprints:
    """The listed fingerprints of a store, read once; none for stores that an older Headscape has published.

    Attributes
    ----------
    damage
        A finding where the list of checksums or of fingerprints itself is damaged; else None.
    """

    def __init__(self, store: Path, checksums: Mapping[str, str]) -> None:
        self._store, self._checksums = store, checksums
        self._listed, self.damage = _read_fingerprints(store)
        self._looked, self._names = -PAUSE, -1

    def replaced(self, *, every: bool = False) -> Iterator[str]:
        """A finding for each chunk file with sound bytes of another; only of touched files, or of `every` file, then with its middle."""
        owner = {known.holds: path for path, known in self._listed.items()}
        for path, known in self._listed.items():
            try:
                if every or _stamp(self._store / path) != known.stamp:
                    yield from self._compared(path, known, owner, whole=every)
            except OSError:
                continue  # missing: a read reports it

    def _compared(self, path: str, known: Fingerprint, owner: Mapping[str, str], *, whole: bool) -> Iterator[str]:
        holds = _held(self._store / path)
        same_ends = holds == known.holds
        if same_ends and not (whole and known.whole and _whole(self._store / path) != known.whole):
            return
        if not same_ends and holds in owner:
            yield f"{path} holds the bytes of {owner[holds]}."
        elif checksum(self._store / path) == self._checksums.get(path):  # else damaged, which a read detects
            yield f"{path} holds other bytes than were written."

    def first_replaced(self) -> str | None:
        """A finding on a chunk file with sound bytes of another, or on a lost folder; else None. Files are checked again from time to time."""
        try:
            names, now = (self._store / FOLDER).stat().st_mtime_ns, time.monotonic()
        except FileNotFoundError:
            return f"the folder {FOLDER} is missing."
        if now - self._looked < (SOON if names != self._names else PAUSE):
            return None
        found = next(self.replaced(), None)
        if found is None:  # a found file is reported again at the next read
            self._looked, self._names = now, names
        return found


def has_fingerprints(store: Path | None) -> bool:
    """Whether a local store lists fingerprints; object storage (None) has none."""
    return store is not None and (store / FINGERPRINTS).is_file()


def _write_fingerprints(store: Path, checksums: Mapping[str, str], read: Mapping[str, Fingerprint]) -> None:
    """Write the fingerprints of the listed chunk files: known ones are kept, others are taken from `read` or made."""
    listed, _ = _read_fingerprints(store)
    chunks = (path for path in checksums if path.startswith(f"{FOLDER}/"))
    known = {path: listed.get(path) or read.get(path) or _fingerprint(store / path) for path in chunks}
    lines = [
        _list_seal((store / LIST).read_bytes()),
        *(f"{print_.holds} {print_.stamp} {print_.whole or '-'} {path}" for path, print_ in known.items() if print_),
    ]
    text = "".join(f"{line}\n" for line in lines)
    replace_file(store / FINGERPRINTS, f"{text}{google_crc32c.value(text.encode()):08x}\n".encode())


def _read_fingerprints(store: Path) -> tuple[dict[str, Fingerprint], str | None]:
    """The fingerprints by path, and a finding on damaged lists; no fingerprints where their list is damaged."""
    try:
        content = (store / FINGERPRINTS).read_bytes()
    except FileNotFoundError:
        return {}, None
    cut = content.rfind(b"\n", 0, -1) + 1
    body, own = content[:cut], content[cut:]
    if own != f"{google_crc32c.value(body):08x}\n".encode():
        return {}, f"The file `{FINGERPRINTS}` is damaged; the data are not."
    of_list, *lines = body.decode().splitlines()
    listed = {path: _parsed(*values) for *values, path in (line.split(" ") for line in lines)}
    return listed, None if _is_sealed(store, of_list) else f"The file `{LIST}` is damaged; the data are not."


def _parsed(holds: str, stamp: str, whole: str = "-") -> Fingerprint:
    return Fingerprint(holds, stamp, whole.removeprefix("-"))


def _list_seal(content: bytes) -> str:
    return f"{google_crc32c.value(content):08x}-{len(content)}"


def _is_sealed(store: Path, seal: str) -> bool:
    """Whether the list of checksums begins with its sealed part; True where it is missing, which `verify` reports."""
    try:
        content = (store / LIST).read_bytes()
    except FileNotFoundError:
        return True
    return _list_seal(content[: int(seal.partition("-")[2])]) == seal


def _fingerprint(file: Path) -> Fingerprint | None:
    try:
        return _sums(file)[1]
    except OSError:
        return None


def _sums(file: Path) -> tuple[str, Fingerprint]:
    """Checksum and fingerprint of a file, from one read."""
    total, whole, first, last = 0, 0, b"", b""
    with file.open("rb") as opened:
        status = os.fstat(opened.fileno())
        while piece := opened.read(READ_AT_ONCE):
            total, whole = google_crc32c.extend(total, piece), zlib.crc32(piece, whole)
            first, last = first or piece[:PIECE], (last + piece[-PIECE:])[-PIECE:]
    return f"{total:08x}", Fingerprint(_ends(first, last, status.st_size), _stamped(status), f"{whole:08x}")


def _held(file: Path) -> str:
    with file.open("rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        first = opened.read(PIECE)
        opened.seek(max(size - PIECE, 0))
        return _ends(first, opened.read(PIECE), size)


def _ends(first: bytes, last: bytes, size: int) -> str:
    return f"{zlib.crc32(last, zlib.crc32(first)):08x}-{size}"


def _whole(file: Path) -> str:
    return _summed(file, lambda total, piece: zlib.crc32(piece, total))


def _stamp(file: Path) -> str:
    return _stamped(file.stat())


def _stamped(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns}-{status.st_ino}"


def checksum(file: Path) -> str:
    """CRC-32C of a file in hexadecimal."""
    return _summed(file, google_crc32c.extend)


def _summed(file: Path, extend: Callable[[int, bytes], int]) -> str:
    """A checksum of a file in hexadecimal; `extend` updates the checksum of previous bytes."""
    total = 0
    with file.open("rb") as opened:
        while piece := opened.read(READ_AT_ONCE):
            total = extend(total, piece)
    return f"{total:08x}"
