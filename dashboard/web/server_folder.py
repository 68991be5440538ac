"""A private folder that the processes of a server share, held by the server as long as it lives."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ServerFolder:
    """The folder as every process of the server knows it; `path` is readable by this user alone."""

    path: Path

    @property
    def socket(self) -> Path:
        """Where the encoder process listens: to whoever may open the folder."""
        return self.path / "encoder"

    @contextmanager
    def starting(self) -> Iterator[None]:
        """One process of the server at a time starts an encoder process."""
        with (self.path / "starting").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def wait_for_end(self) -> None:
        """Return when the server has ended, and the folder is to be removed."""
        with (self.path / "server").open("r+") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the folder; it may be gone."""
        shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def server_folder() -> Iterator[ServerFolder]:
    """A new folder, held by this process: the system lets go of it when the process dies, even of SIGKILL."""
    folder, owner = ServerFolder(Path(tempfile.mkdtemp(prefix="headscape-"))), os.getpid()
    try:
        with (folder.path / "server").open("w") as file:
            # Unlike flock's, this lock is not inherited: forked workers that outlive the server do not hold it.
            fcntl.lockf(file, fcntl.LOCK_EX)
            yield folder
    finally:
        if os.getpid() == owner:  # a forked worker comes here too when it ends
            folder.remove()
