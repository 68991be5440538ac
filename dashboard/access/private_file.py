"""Small files that decide who may come in: only this user reads them, and a change is seen at the next request."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from store.repository.files import replace_file

T = TypeVar("T")
#: Permissions of a file, and of its folder: only this user may read it.
PRIVATE, PRIVATE_FOLDER = 0o600, 0o700


class AccessFileError(Exception):
    """A file that decides who may come in cannot be used; the message says what to do."""


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold the lock of a file, which need not exist: processes that change the file take turns."""
    try:
        file.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        lock = os.open(file.with_name(f"{file.name}.lock"), os.O_RDWR | os.O_CREAT, PRIVATE)
    except OSError as error:
        raise AccessFileError(f"{file} cannot be written: {error.strerror}. Choose another folder.") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def write_private(file: Path, content: bytes) -> None:
    """Write a file whole. Call it with the file locked: readers find the new content or the old one."""
    try:
        replace_file(file, content, mode=PRIVATE)
    except OSError as error:
        raise AccessFileError(
            f"{file} cannot be written: {error.strerror}. Free some space, then try again."
        ) from error


class Watched(Generic[T]):
    """The parsed content of a file, read again when its date, size or inode number has changed: a look takes 2 µs."""

    def __init__(self, file: Path, parse: Callable[[bytes], T], remedy: str) -> None:
        self.file = file
        self._parse, self._remedy = parse, remedy
        self._lock = Lock()
        self._known: tuple[tuple[int, ...], T] | None = None

    @property
    def value(self) -> T:
        """The parsed content of the file now.

        Raises
        ------
        AccessFileError
            Where the file cannot be read or its content is not valid.
        """
        with self._lock:
            version = self._version()  # before reading: a change meanwhile is seen the next time
            if self._known is None or self._known[0] != version:
                self._known = version, self._read()
            return self._known[1]

    def _version(self) -> tuple[int, ...]:
        try:
            status = self.file.stat()
        except OSError as error:
            raise AccessFileError(f"{self.file} cannot be read: {error.strerror}. {self._remedy}") from error
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _read(self) -> T:
        try:
            return self._parse(self.file.read_bytes())
        except OSError as error:
            raise AccessFileError(f"{self.file} cannot be read: {error.strerror}. {self._remedy}") from error
        except ValueError:  # the error's text repeats the file's content, hashes too
            raise AccessFileError(f"{self.file} is damaged. {self._remedy}") from None
