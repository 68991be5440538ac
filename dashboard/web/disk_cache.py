"""Cached bytes in files that all processes of a server share: bounded, the least recently used are deleted first."""

import os
import shutil
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from struct import Struct
from threading import Lock
from typing import IO

import google_crc32c

from store.repository.files import new_file

#: Checksum of the key, the description and the content; length of the description.
HEAD = Struct("<II")
#: Share of the budget that one entry may take, that a process adds between two looks at the folder, and that is deleted then.
MOST, STEP = 1 / 4, 1 / 32
#: Share of the free disk that all entries may take: the rest is for whatever else is written there.
OF_DISK = 1 / 2
PIECE = 1 << 20


class DiskCache:
    """Entries under a text: a short description and a content, checked when they are read.

    Nothing depends on it: where the disk is full, or a file is damaged or gone, an entry is not there. `workers` processes
    that share a folder stay within `budget` bytes together, and within half of what the disk has for them.
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

    def add(self, key: str, description: bytes, content: IO[bytes]) -> None:
        """Add an entry, unless it is too large. The content is read from where it stands, and left there."""
        begin = content.tell()
        size = HEAD.size + len(description) + content.seek(0, os.SEEK_END) - begin
        content.seek(begin)
        if size > self.budget * MOST:
            return
        file = self._file(key)
        with suppress(OSError):  # the disk is full, or the server has ended
            self._folder.mkdir(parents=True, exist_ok=True)
            if not self._has_room(size):
                return
            with new_file(file, durable=False) as part:
                _write(part, key, description, content)
        content.seek(begin)

    def _file(self, key: str) -> Path:
        return self._folder / sha256(key.encode()).hexdigest()

    def _has_room(self, size: int) -> bool:
        """Whether there is room for so many bytes, once the least recently used entries are deleted.

        It looks at the folder after this process has added enough since it last looked; on a nearly full disk, each time.
        """
        free = shutil.disk_usage(self._folder).free
        with self._lock:
            self._added += size
            if self._added <= self._step and OF_DISK * free > self.budget:
                return True
            self._added = size
        entries = _latest_first(self._folder)
        of_disk = int(OF_DISK * (free + sum(bytes_of_file for _, bytes_of_file in entries)))
        if size > MOST * of_disk:
            return False
        room = min(self._rest, of_disk) - size
        for file, bytes_of_file in entries:
            room -= bytes_of_file
            if room < 0:
                file.unlink(missing_ok=True)
        return True


def _write(part: Path, key: str, description: bytes, content: IO[bytes]) -> None:
    """Write an entry piece by piece, so that a large one is never whole in memory."""
    total = google_crc32c.value(key.encode() + description)
    with part.open("wb") as written:
        written.write(HEAD.pack(0, 0))
        written.write(description)
        while piece := content.read(PIECE):
            total = google_crc32c.extend(total, piece)
            written.write(piece)
        written.seek(0)
        written.write(HEAD.pack(total, len(description)))


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
    """Files with their sizes, the most recently used first; among them parts of a process that was killed."""
    entries = []
    with os.scandir(folder) as every:
        for entry in every:
            try:
                known = entry.stat()
            except FileNotFoundError:
                continue
            entries.append((known.st_mtime_ns, Path(entry.path), known.st_size))
    return [(path, size) for _, path, size in sorted(entries, reverse=True)]
