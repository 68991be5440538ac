"""Processes of a server: their command, their shared folder, the memory that they return, and a full disk.

Where the temporary folder is full, answers wait in memory, and files that only save time are left out.
"""

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, RawIOBase
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np  # noqa: F401  # loads the library whose threads are limited
from threadpoolctl import threadpool_limits

from store.process import use_one_heap
from store.repository.files import is_full, replace_file

#: Least default number of workers, so that one answers while another computes; bytes of memory that each needs.
FEWEST_WORKERS, WORKER_MEMORY = 2, 450 << 20
#: File of Linux with the memory limit of a container in bytes; "max" without a limit.
CONTAINER_MEMORY = Path("/sys/fs/cgroup/memory.max")
#: The folder of our packages.
PLACE = str(Path(__file__).parents[2])
#: Least bytes of an array with a memory mapping of its own. By default glibc raises this limit to 32 MB when the first large
#: array is freed; from then on arrays lie in the heap, with holes between them. With 512 KB requests took a twelfth less processor time,
#: and a worker 60 MB more.
MAPPED_BYTES = 128 << 10
#: Free bytes at the end of the heap that the process keeps.
KEPT_BYTES = 8 << 20


@dataclass(frozen=True)
class ServerFolder:
    """A folder that the processes of a server share; only this user can read it."""

    path: Path

    @property
    def socket(self) -> Path:
        """The socket of the encoder process."""
        return self.path / "encoder"

    @property
    def metrics(self) -> Path:
        """The folder of the metrics of all workers."""
        return self.path / "metrics"

    @contextmanager
    def encoding(self) -> Iterator[None]:
        """Note within the context that this is the encoder process, for `encoder_process`."""
        with self._encoder.open("a") as file:  # while this process waits, the file has the id of another
            fcntl.flock(file, fcntl.LOCK_EX)
            file.truncate(0)
            try:
                os.write(file.fileno(), str(os.getpid()).encode())
            except OSError as error:  # its memory is then missing among the metrics
                if not is_full(error):
                    raise
            yield

    @property
    def encoder_process(self) -> int | None:
        """The process id of the encoder process; None where there is none."""
        try:
            with self._encoder.open() as file:
                # A shared lock, so that two processes that check at once do not take each other for the encoder process.
                return None if locked(file, fcntl.LOCK_SH) else int(file.read() or 0) or None
        except FileNotFoundError:
            return None

    @property
    def _encoder(self) -> Path:
        return self.path / "encoder-process"

    @contextmanager
    def starting(self) -> Iterator[None]:
        """A lock for the start of an encoder process: one process of the server at a time holds it."""
        with (self.path / "starting").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def wait_for_end(self) -> None:
        """Wait until the server has ended."""
        with (self.path / "server").open("r+") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the folder, if it still exists."""
        shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def server_folder() -> Iterator[ServerFolder]:
    """A new folder, locked by this process: the system unlocks it when the process dies, even by SIGKILL."""
    folder, owner = ServerFolder(Path(tempfile.mkdtemp(prefix="headscape-"))), os.getpid()
    try:
        with (folder.path / "server").open("w") as file:
            # Unlike flock's, this lock is not inherited: forked workers that outlive the server do not hold it.
            fcntl.lockf(file, fcntl.LOCK_EX)
            folder.metrics.mkdir()
            yield folder
    finally:
        if os.getpid() == owner:  # a forked worker reaches this line too when it ends
            folder.remove()


def locked(file: IO[str], kind: int = fcntl.LOCK_EX) -> bool:
    """Lock an open file until it is closed; False where another thread or process has locked it."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write_whole(file: Path, content: bytes) -> None:
    """Write a file that others see whole or not at all; nothing on a full disk, as such files only save time or note progress."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, content, durable=False)
    except OSError as error:
        if not is_full(error):
            raise


def workers_by_default(cores: int | None = None, memory: int | None = None) -> int:
    """Default number of workers: one for each core of this process, at least two, but no more than fit into `memory` bytes."""
    if cores is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(max(FEWEST_WORKERS, cores), (usable_memory() if memory is None else memory) // WORKER_MEMORY))


def usable_memory(container: Path = CONTAINER_MEMORY) -> int:
    """Bytes of memory of this machine, or of the container."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(machine, int(container.read_text()))
    except (OSError, ValueError):  # no container, or a container without a limit
        return machine


def own_module(name: str, *arguments: str) -> list[str]:
    """The command that runs one of our modules; "-P" hides the current folder, which may hold another `store`."""
    return [sys.executable, "-P", "-m", name, *arguments]


def environment() -> dict[str, str]:
    """The environment of a process that imports our packages."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([PLACE, *filter(None, [os.environ.get("PYTHONPATH")])])}


def resident_memory(pid: int | None = None) -> int | None:
    """Bytes of resident memory of a process, by default this one; None where the process or the system's number is missing."""
    try:
        pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def one_thread_per_product() -> None:
    """Multiply matrices on one thread: workers fill the cores already, and threads of one product wait for each other.

    The highest-scoring keys of a point took 170 ms of CPU time with two threads beside other work, and 95 ms with one.
    """
    threadpool_limits(1, "blas")


def return_freed_memory() -> None:
    """Let freed memory go back to the system: glibc keeps four times the memory in use. Call it before threads start."""
    use_one_heap(mapped=MAPPED_BYTES, kept=KEPT_BYTES)


class OverflowFile:
    """A temporary file that continues in memory where the disk is full."""

    def __init__(self) -> None:
        self._file: IO[bytes] | RawIOBase
        try:
            self._file = TemporaryFile(buffering=0)  # noqa: SIM115  # unwritable data in a buffer could not be read back either
        except OSError:
            self._file = BytesIO()

    def __getattr__(self, name: str) -> Any:
        """Any other attribute of the file."""
        return getattr(self._file, name)

    def write(self, data: bytes) -> int:
        """Write all data; returns their length."""
        begin, rest = self._file.tell(), memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        except OSError:
            self._go_on_in_memory(begin)
            self._file.write(data)
        return len(data)

    def _go_on_in_memory(self, size: int) -> None:
        self._file.seek(0)
        content = BytesIO()
        content.write(self._file.read(size) or b"")
        self._file.close()
        self._file = content


def let_answers_overflow() -> None:
    """Let answers and bodies of waitress continue in memory where the disk is full: else waitress would end their connections."""
    from waitress.buffers import TempfileBasedBuffer

    TempfileBasedBuffer.newfile = lambda _: OverflowFile()
