"""Cached bytes in files that all processes of a server share: bounded, the least recently used are deleted first."""

import os
import re
from hashlib import sha256
from pathlib import Path
from struct import Struct
from threading import Lock
from typing import IO

import google_crc32c

from dashboard.web.processes import write_whole

#: Checksum of the key, the description and the content; length of the description.
HEAD = Struct("<II")
#: Share of the budget that one entry may take, that a process adds between two looks at the folder, and that is deleted then.
MOST, STEP = 1 / 4, 1 / 32
PIECE = 1 << 20
_NAME = re.compile(r"[0-9a-f]{64}")


class DiskCache:
    """Entries under a text: a short description and a content, checked when they are read.

    Nothing depends on it: where the disk is full, or a file is damaged or gone, an entry is not there. `workers` processes
    that share a folder stay within `budget` bytes together.
    """

    def __init__(self, folder: Path, budget: int, *, workers: int = 8) -> None:
        self._folder, self.budget = folder, budget
        self._step = budget * STEP
        self._rest = budget - workers * self._step
        self._added = 0
        self._lock = Lock()

    def find(self, key: str) -> tuple[bytes, IO[bytes]] | None:
        """The description, and the open file at the beginning of the content; None where there is no whole entry."""
        file = self._file(key)
        try:
            opened = file.open("rb")
        except OSError:
            return None
        if (description := _checked(opened, key)) is None:
            opened.close()
            file.unlink(missing_ok=True)
            return None
        _note_use(file)
        return description, opened

    def add(self, key: str, description: bytes, content: bytes) -> None:
        """Add an entry, unless it is too large."""
        size = HEAD.size + len(description) + len(content)
        if size > self.budget * MOST:
            return
        checksum = google_crc32c.extend(google_crc32c.value(key.encode() + description), content)
        try:
            self._trim(size)
            write_whole(self._file(key), b"".join((HEAD.pack(checksum, len(description)), description, content)))
        except OSError:  # the disk is full, or the server has ended
            return

    def _file(self, key: str) -> Path:
        return self._folder / sha256(key.encode()).hexdigest()

    def _trim(self, size: int) -> None:
        """Delete the least recently used entries, once this process has added enough since it last looked."""
        with self._lock:
            self._added += size
            if self._added <= self._step:
                return
            self._added = size
        room = self._rest - size
        for file, bytes_of_file in _latest_first(self._folder):
            room -= bytes_of_file
            if room < 0:
                file.unlink(missing_ok=True)


def _checked(opened: IO[bytes], key: str) -> bytes | None:
    """The description, with the file at the beginning of the content; None where it is not the whole entry of the key."""
    head = opened.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    checksum, length = HEAD.unpack(head)
    description = opened.read(length)
    total, content = google_crc32c.value(key.encode() + description), opened.tell()
    while piece := opened.read(PIECE):
        total = google_crc32c.extend(total, piece)
    opened.seek(content)
    return description if total == checksum and content == HEAD.size + length else None


def _note_use(file: Path) -> None:
    try:
        os.utime(file)
    except OSError:  # another process has just deleted it
        return


def _latest_first(folder: Path) -> list[tuple[Path, int]]:
    """Entries with their sizes, the most recently used first."""
    entries = []
    with os.scandir(folder) as every:
        for entry in every:
            try:
                known = entry.stat()
            except FileNotFoundError:
                continue
            if _NAME.fullmatch(entry.name):
                entries.append((known.st_mtime_ns, Path(entry.path), known.st_size))
    return [(path, size) for _, path, size in sorted(entries, reverse=True)]
