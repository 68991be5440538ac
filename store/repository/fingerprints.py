"""Which bytes each chunk file of a local store holds, in its file `fingerprints`: exchanged and replaced files are found out.

Every tile of a chunk file is followed by its own CRC-32C, and the CRC-32C of bytes with theirs is a constant: in the list
of checksums all sound shards of a shape look alike (the 2,494 files of a default store have 11 checksums). A fingerprint
is another checksum (CRC-32 of zlib) of the first and last bytes, and the size. Beside it stand time of writing and inode:
a file that has both is not read again; and the same checksum of the whole file, which `verify` compares: tiles that were
exchanged within a file, or replaced in its middle, are found there. The first line is the checksum and length of the list of checksums, which publishing
only appends to; the last is the checksum of this file.
"""

import os
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import google_crc32c

NAME = "fingerprints"
LIST, FOLDER = "checksums", "chunks"
#: Bytes at each end of a file that are read.
PIECE = 4096
#: Seconds after which a reader looks at all files again; where names in the folder have changed, after which he does.
PAUSE, SOON = 60.0, 1.0


class Fingerprint(NamedTuple):
    """Of a file: what it holds, what a file that nobody has touched since keeps, and all that it holds; "" in older lists."""

    holds: str
    stamp: str
    whole: str


class Fingerprints:
    """The listed fingerprints of a store, read once; none for stores that an older Headscape has published.

    Attributes
    ----------
    damage
        A sentence where the list of checksums or this one is damaged itself.
    """

    def __init__(self, store: Path, checksums: Mapping[str, str]) -> None:
        self._store, self._checksums = store, checksums
        self._listed, self.damage = _read(store)
        self._looked, self._names = -PAUSE, -1

    def replaced(self, *, every: bool = False) -> Iterator[str]:
        """A sentence for each chunk file that holds sound bytes of another; only those touched since, unless `every`, whose middle is read too."""
        owner = {known.holds: path for path, known in self._listed.items()}
        for path, known in self._listed.items():
            try:
                if every or _stamp(self._store / path) != known.stamp:
                    yield from self._compared(path, known, owner, whole=every)
            except OSError:
                continue  # missing: reading it says so

    def _compared(self, path: str, known: Fingerprint, owner: Mapping[str, str], *, whole: bool) -> Iterator[str]:
        holds = _held(self._store / path)
        same_ends = holds == known.holds
        if same_ends and not (whole and known.whole and _whole(self._store / path) != known.whole):
            return
        if not same_ends and holds in owner:
            yield f"{path} holds the bytes of {owner[holds]}."
        elif checksum(self._store / path) == self._checksums.get(path):  # else damaged, which reading finds out
            yield f"{path} holds other bytes than were written."

    def first_replaced(self) -> str | None:
        """A sentence on a chunk file that holds sound bytes of another; looked for again from time to time."""
        names, now = (self._store / FOLDER).stat().st_mtime_ns, time.monotonic()
        if now - self._looked < (SOON if names != self._names else PAUSE):
            return None
        found = next(self.replaced(), None)
        if found is None:  # else it is found again at the next read
            self._looked, self._names = now, names
        return found


def has_fingerprints(store: Path | None) -> bool:
    """Whether a local store lists fingerprints; object storage (None) has none."""
    return store is not None and (store / NAME).is_file()


def write_fingerprints(store: Path, checksums: Mapping[str, str]) -> None:
    """Write the fingerprints of the listed chunk files; those that are known and still there are kept."""
    listed, _ = _read(store)
    chunks = (path for path in checksums if path.startswith(f"{FOLDER}/"))
    known = {path: listed.get(path) or _fingerprint(store / path) for path in chunks}
    lines = [
        _list_seal((store / LIST).read_bytes()),
        *(f"{print_.holds} {print_.stamp} {print_.whole or '-'} {path}" for path, print_ in known.items() if print_),
    ]
    text = "".join(f"{line}\n" for line in lines)
    place = store / f"{NAME}.new"
    place.write_text(f"{text}{google_crc32c.value(text.encode()):08x}\n", encoding="utf-8")
    os.replace(place, store / NAME)


def _read(store: Path) -> tuple[dict[str, Fingerprint], str | None]:
    """The fingerprints by path, and what is wrong with the lists; no fingerprints where theirs is damaged."""
    try:
        content = (store / NAME).read_bytes()
    except FileNotFoundError:
        return {}, None
    cut = content.rfind(b"\n", 0, -1) + 1
    body, own = content[:cut], content[cut:]
    if own != f"{google_crc32c.value(body):08x}\n".encode():
        return {}, f"The file `{NAME}` is damaged; the data are not."
    of_list, *lines = body.decode().splitlines()
    listed = {path: _parsed(*values) for *values, path in (line.split(" ") for line in lines)}
    return listed, None if _is_sealed(store, of_list) else f"The file `{LIST}` is damaged; the data are not."


def _parsed(holds: str, stamp: str, whole: str = "-") -> Fingerprint:
    return Fingerprint(holds, stamp, whole.removeprefix("-"))


def _list_seal(content: bytes) -> str:
    return f"{google_crc32c.value(content):08x}-{len(content)}"


def _is_sealed(store: Path, seal: str) -> bool:
    """Whether the list of checksums begins as it was sealed; where it is missing, `verify` says so."""
    try:
        content = (store / LIST).read_bytes()
    except FileNotFoundError:
        return True
    return _list_seal(content[: int(seal.partition("-")[2])]) == seal


def _fingerprint(file: Path) -> Fingerprint | None:
    try:
        return Fingerprint(_held(file), _stamp(file), _whole(file))
    except OSError:
        return None


def _held(file: Path) -> str:
    with file.open("rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        first = zlib.crc32(opened.read(PIECE))
        opened.seek(max(size - PIECE, 0))
        return f"{zlib.crc32(opened.read(PIECE), first):08x}-{size}"


def _whole(file: Path) -> str:
    return _summed(file, lambda total, piece: zlib.crc32(piece, total))


def _stamp(file: Path) -> str:
    written = file.stat()
    return f"{written.st_mtime_ns}-{written.st_ino}"


def checksum(file: Path) -> str:
    """CRC-32C of a file in hexadecimal."""
    return _summed(file, google_crc32c.extend)


def _summed(file: Path, extend: Callable[[int, bytes], int]) -> str:
    """A checksum of a file in hexadecimal, by what extends the checksum of the bytes before."""
    total = 0
    with file.open("rb") as opened:
        while piece := opened.read(1 << 22):
            total = extend(total, piece)
    return f"{total:08x}"
