"""Files that several processes use: files that are written whole or not at all, and a lock on a folder.

One process at a time holds a lock: an flock on a file beside the folder, which the system releases with the process.
"""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import IO

#: Seconds before a second try: `is_locked` in another process holds the lock for less.
RETRY = 0.1
#: Error numbers for no room: on the disk, in the user's quota, in the largest size of a file.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def new_file(file: Path, *, mode: int | None = None, durable: bool = True) -> Iterator[Path]:
    """A temporary file beside `file`, to be written in the context; at the end it replaces `file` in one step.

    Readers find the whole new content or the old content, even after a power cut. Where an error ends the context,
    `file` does not change and the temporary file is removed.

    Parameters
    ----------
    file
        The file that is made or replaced. Its folder exists.
    mode
        Permissions of the new file; by default those of the replaced file, or the process's default.
    durable
        Whether the context ends only when the disk has the content. False for caches, and files that are rewritten soon.
    """
    part = file.with_name(f"{file.name}.{os.getpid()}-{get_ident()}")  # another thread may write the same file
    try:
        part.unlink(missing_ok=True)  # of a killed process with the same id
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode))
        if mode is None:
            with suppress(FileNotFoundError):
                part.chmod(file.stat().st_mode & 0o777)
        yield part
        if durable:
            _sync(part)
        part.replace(file)
        if durable:
            _sync_folder(file.parent)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def replace_file(file: Path, content: bytes, *, mode: int | None = None, durable: bool = True) -> None:
    """Write a file in one step, see `new_file`."""
    with new_file(file, mode=mode, durable=durable) as part:
        part.write_bytes(content)


def is_full(error: OSError) -> bool:
    """Whether an error means that there is no room to write."""
    return error.errno in FULL


def _sync_folder(folder: Path) -> None:
    """Keep a new name of a file through a power cut, where the file system can: some of FUSE and SMB refuse it."""
    try:
        _sync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise


def _sync(place: Path) -> None:
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
        file = open(f"{place}.lock", "a", encoding="ascii")  # noqa: SIM115  # the holder of the lock closes it
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
    """Whether the previous holder of the lock has removed its file."""
    return os.fstat(file.fileno()).st_nlink == 0


def _take(file: IO[str], kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
