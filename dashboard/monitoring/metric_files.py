"""The files of prometheus-client, with room on the disk for all that is written into them.

prometheus-client maps a file that it has only made long. A page of it that the disk has no room for then ends the process
by SIGBUS, and so each worker that takes its place. Here the room is taken before the file is mapped, for every worker when
the server starts, and is never given back. A series that finds no more room is counted where nobody reads it.
"""

import os
from contextlib import suppress
from mmap import mmap
from pathlib import Path

from prometheus_client import values
from prometheus_client.mmap_dict import MmapedDict

#: Bytes of a file at first: those that prometheus-client makes it long. It doubles them.
ROOM = 1 << 16
#: The files of a worker's place, as prometheus-client names them.
KINDS = ("counter", "histogram", "gauge_liveall", "gauge_livesum")
#: Of these, what only a living worker has.
OF_LIVING = "gauge_live*"
#: Bytes of a value with its time, and of the length of a key and what fills it up.
VALUE, AROUND = 16, 12


class AllocatedFile(MmapedDict):
    """A file of values. Where the disk has no room for more series, it keeps those that it has."""

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        if not read_mode:
            take_room(Path(filename), ROOM)
        super().__init__(filename, read_mode)
        self._full = False

    def _init_value(self, key: str) -> None:
        """Add a series, with a value of zero."""
        beyond = self._used + len(key.encode()) + AROUND + 2 * VALUE
        if not self._full and beyond > self._capacity:
            self._full = not self._grow()
        if self._full:
            self._positions[key] = self._capacity - VALUE  # beyond what is read
        else:
            super()._init_value(key)

    def _grow(self) -> bool:
        try:
            take_room(Path(self._fname), 2 * self._capacity)
        except OSError:
            return False
        self._capacity *= 2
        self._m = mmap(self._f.fileno(), self._capacity)
        return True


def take_places(folder: Path, workers: int) -> None:
    """Take the room of so many workers, as far as the disk has it."""
    with suppress(OSError):
        for place in range(workers):
            for kind in KINDS:
                take_room(folder / f"{kind}_{place}.db", ROOM)
            (folder / f"worker-{place}").touch()


def take_room(file: Path, size: int) -> None:
    """Make a file at least so long, with room on the disk for all of it. Where there is none, it stays as it is."""
    with file.open("ab") as opened:
        before = opened.tell()
        if size <= before:
            return
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(opened.fileno(), 0, size)
            else:  # macOS
                opened.write(bytes(size - before))
        except OSError:
            if not before:  # an empty file is none that prometheus-client can read
                file.unlink()
            raise


def forget(folder: Path, place: int) -> None:
    """Empty what only a living worker has; its room is kept."""
    for file in folder.glob(f"{OF_LIVING}_{place}.db"):
        with file.open("r+b") as opened:
            opened.write(bytes(file.stat().st_size))


def use_place(number: int) -> None:
    """Let metrics that are made from now on be in the files of a place, in the folder that prometheus-client's variable names."""
    values.MmapedDict = AllocatedFile  # type: ignore[attr-defined]
    values.ValueClass = values.MultiProcessValue(lambda: number)


def use_own() -> None:
    """Let metrics that are made from now on be of this process alone."""
    values.ValueClass = values.MutexValue
