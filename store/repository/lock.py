"""One process at a time: an flock on a file beside a folder. Where its process ends, killed or not, the system lets go of it."""

import fcntl
import time
from pathlib import Path
from typing import IO

#: Seconds in which nobody holds a lock who only looks whether it is held.
LOOK = 0.1


def take_lock(folder: Path) -> IO[str] | None:
    """The file that is locked until it is closed; None while another process holds it.

    Raises
    ------
    OSError
        Where nothing can be written beside the folder.
    """
    place = folder.resolve()
    if not place.parent.exists():  # where it is a file, opening says so
        place.parent.mkdir(parents=True, exist_ok=True)
    file = open(f"{place}.lock", "a", encoding="ascii")  # noqa: SIM115  # whoever takes the lock closes it
    if _take(file):
        return file
    time.sleep(LOOK)
    if _take(file):
        return file
    file.close()
    return None


def is_locked(folder: Path) -> bool:
    """Whether a process holds the lock of a folder. There is no way to ask but to take it for a moment."""
    try:
        file = open(f"{folder.resolve()}.lock", encoding="ascii")  # noqa: SIM115  # closed below
    except FileNotFoundError:
        return False
    with file:
        return not _take(file, fcntl.LOCK_SH)


def _take(file: IO[str], kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
