"""Work in a separate process, as a worker does not import UMAP or torch. The process ends afterwards, or waits for more requests.

`python -m MODULE DESCRIPTOR` takes requests from the connection of this descriptor (`answer_apart`). It sends its progress,
then the answer. It ends when the other end of the connection closes, or after the seconds of its bounds.
"""

import os
import resource
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from weakref import finalize

from dashboard.ui.work import Job
from dashboard.web.admission import LOOK_SECONDS, Room
from dashboard.web.errors import NotYet, ReaderLeft, Refusal, sentence_for
from dashboard.web.processes import environment, locked, own_module

#: Niceness of the process: processes that answer readers go first.
NICE = 5
#: Environment of the process: one thread per matrix product, as workers have the cores; no progress bars of a terminal.
ALONE = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
#: Seconds before the end of its idle time in which a process gets no request: it may end before it reads one.
MARGIN = 5.0
#: Takes the finished share, 0 to 1, and the current stage; raises where no reader waits any more.
Watch = Callable[[float, str | None], None]
Tell = Callable[[float, str], object]


@dataclass(frozen=True)
class Bounds:
    """Limits of a process, and messages to its reader where it exceeds them or dies.

    Attributes
    ----------
    slow, large, ended
        Message where the process takes too many seconds, needs too many bytes, or ends without an answer.
    seconds, memory
        Most seconds and most bytes of data of one request.
    idle
        Seconds that the process waits for another request.
    """

    slow: str
    large: str
    ended: str
    seconds: int = 300
    idle: int = 120
    memory: int = 4 << 30


@dataclass(frozen=True)
class Told:
    """Progress of a process."""

    share: float
    stage: str


def ask_apart(module: str, request: object, watch: Watch, bounds: Bounds) -> Any:
    """The answer of a new process, which ends afterwards."""
    apart = Apart(module, bounds)
    try:
        return apart.ask(request, watch)
    finally:
        apart.end()


class Apart:
    """A process that answers one request after the other: only before the first answer does it import slow packages.

    The process is killed where no reader waits for its answer any more, and ends after `Bounds.idle` seconds without a request.
    """

    def __init__(self, module: str, bounds: Bounds) -> None:
        self._module, self._bounds = module, bounds
        self._connection: Connection | None = None
        self._asked_until = 0.0
        self.end: Callable[[], object] = lambda: None

    def ask(self, request: object, watch: Watch) -> Any:
        """The answer to a request; raises the `Refusal` that the process sends, or what `watch` raises. One thread at a time."""
        connection = self._started()
        try:
            connection.send(request)
            answer = _answer(connection, watch, self._bounds)
        except (OSError, EOFError) as error:
            self.end()
            raise Refusal(self._bounds.ended, 503) from error
        except BaseException:
            self.end()
            raise
        self._asked_until = monotonic() + self._bounds.idle - MARGIN
        if isinstance(answer, Refusal):
            raise answer
        return answer

    def _started(self) -> Connection:
        """The connection to the waiting process, or to a new process."""
        connection = self._connection
        if (
            connection is not None
            and not connection.closed
            and not connection.poll()
            and monotonic() < self._asked_until
        ):
            return connection
        self.end()
        own, other = Pipe()
        with other:
            process = start_apart(self._module, other.fileno())
        self.end = finalize(self, _end, process, own)
        self._connection = own
        return own


def _end(process: "subprocess.Popen[bytes]", connection: Connection) -> None:
    connection.close()
    process.kill()
    process.wait()


def start_apart(module: str, descriptor: int) -> "subprocess.Popen[bytes]":
    """Start the process, which waits for a request."""
    # In a session of its own: Ctrl-C in a terminal stops the server, and the process ends with the connection.
    return subprocess.Popen(
        own_module(module, str(descriptor)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[descriptor],
        start_new_session=True,
        env=environment() | ALONE,
    )


def _answer(connection: Connection, watch: Watch, bounds: Bounds) -> Any:
    """Wait for the answer of the process; pass its progress to `watch` until then."""
    deadline = monotonic() + bounds.seconds
    share, stage = 0.0, None
    while monotonic() < deadline:
        watch(share, stage)
        if connection.poll(LOOK_SECONDS):
            answer = connection.recv()
            if not isinstance(answer, Told):
                return answer
            share, stage = answer.share, answer.stage
    raise Refusal(bounds.slow, 503)


def answer_apart(descriptor: str, work: Callable[[Any, Tell], object], bounds: Bounds) -> None:
    """Answer requests, in the process of its own, until the other end of the connection is closed."""
    connection, working, looking = Connection(int(descriptor)), threading.Event(), threading.Lock()
    threading.Thread(target=_end_with, args=(connection, working, looking), daemon=True).start()
    keep_within(bounds)
    with suppress(EOFError, OSError):
        while True:
            request = connection.recv()
            signal.alarm(bounds.seconds)
            working.set()
            answer = _result(lambda: work(request, lambda share, stage: connection.send(Told(share, stage))), bounds)  # noqa: B023
            with looking:
                working.clear()
            signal.alarm(bounds.idle)
            connection.send(answer)


def _end_with(connection: Connection, working: threading.Event, looking: threading.Lock) -> None:
    """End this process when the connection closes. No request arrives during work: readable data then mean a closed connection.

    While the connection is polled, the lock delays the end of the work, after which the next request may arrive.
    """
    while True:
        working.wait()
        with looking:
            if working.is_set() and connection.poll():
                os._exit(0)
        sleep(LOOK_SECONDS)


def keep_within(bounds: Bounds) -> None:
    """Let the operating system limit time and memory: its limits hold even where compiled code lets no thread run."""
    os.nice(NICE)
    signal.alarm(bounds.seconds)
    resource.setrlimit(resource.RLIMIT_DATA, (bounds.memory, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _result(work: Callable[[], object], bounds: Bounds) -> object:
    try:
        return work()
    except MemoryError:
        return Refusal(bounds.large, 503)
    except Exception as error:
        return Refusal(*sentence_for(error))


class Turns:
    """Turns of a server's processes: one works at a time, by the lock of a file that they share.

    `readers` threads of this process may work or wait at once; further readers and those who waited too long get `busy`.
    """

    def __init__(self, lock: Path, readers: int, busy: str, patience: float) -> None:
        self._lock, self._busy, self._patience = lock, busy, patience
        self.room = Room(readers, busy)

    @contextmanager
    def turn(self, job: Job) -> Iterator[None]:
        """Wait for the turn and hold it within the context. Raises `Refusal` where the turn does not come, or no reader waits any more."""
        with self.room.entered(), self._lock.open("w") as turn:
            deadline = monotonic() + self._patience
            while not locked(turn):
                if job.reader_left_or_cancelled:
                    raise ReaderLeft
                if monotonic() > deadline:
                    raise NotYet(self._busy)
                sleep(LOOK_SECONDS)
            yield
