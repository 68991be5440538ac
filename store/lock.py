"""One process at a time: an flock on a file beside a folder. Where its process ends, killed or not, the system lets go of it."""

import fcntl
from pathlib import Path
from typing import IO


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
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
