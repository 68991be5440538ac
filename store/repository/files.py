"""A lock on a folder, for one process at a time: an flock on a file beside it, which the system releases with the process."""

import fcntl
import os
import time
from pathlib import Path
from typing import IO

#: Seconds after which to try again: `is_locked` of another process holds the lock for less.
RETRY = 0.1


def take_lock(folder: Path) -> IO[str] | None:
    """Lock a folder: an open file that holds the lock until it is closed; None while another process holds it.

    Raises
    ------
    OSError
        Where nothing can be written beside the folder.
    """
    place = folder.resolve()
    if not place.parent.exists():  # where it is a file, `open` raises
        place.parent.mkdir(parents=True, exist_ok=True)
    for pause in (0, RETRY):
        time.sleep(pause)
        file = open(f"{place}.lock", "a", encoding="ascii")  # noqa: SIM115  # whoever takes the lock closes it
        if _take(file) and not _is_removed(file):
            return file
        file.close()
    return None


def remove_lock(folder: Path) -> None:
    """Remove the lock file of a folder. The caller holds the lock."""
    Path(f"{folder.resolve()}.lock").unlink(missing_ok=True)


def is_locked(folder: Path) -> bool:
    """Whether another process holds the lock of a folder, tested by locking it for a moment."""
    try:
        file = open(f"{folder.resolve()}.lock", encoding="ascii")  # noqa: SIM115  # closed below
    except FileNotFoundError:
        return False
    with file:
        return not _take(file, fcntl.LOCK_SH)


def _is_removed(file: IO[str]) -> bool:
    """Whether the process that held the lock before has removed its file."""
    return os.fstat(file.fileno()).st_nlink == 0


def _take(file: IO[str], kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
