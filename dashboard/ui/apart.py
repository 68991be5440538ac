"""Work in a process of its own: a worker has neither UMAP nor torch. It is gone afterwards, or waits a while for more.

`python -m MODULE DESCRIPTOR` takes requests from the connection of this descriptor (`answer_apart`). It tells how far it is,
then sends the answer. It ends with the other end of the connection, and after the seconds of its bounds.
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

#: By how much it steps back behind the processes that answer readers.
NICE = 5
#: One thread for each product, as workers have the cores; and no progress bars, which would be for a terminal.
ALONE = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
#: Seconds before the end of its idle time from which a process is asked no more: it may end before it hears of it.
MARGIN = 5.0
#: Takes the share that is done, 0 to 1, and what is done now; raises where nobody waits any more.
Watch = Callable[[float, str | None], None]
Tell = Callable[[float, str], object]


@dataclass(frozen=True)
class Bounds:
    """What a process may take, and what its reader is told where it takes more, or dies.

    Attributes
    ----------
    slow, large, ended
        Where it takes too many seconds, where it needs more bytes of data, and where it has ended without an answer.
    seconds, memory
        At most, of one request.
    idle
        Seconds that it waits for another request.
    """

    slow: str
    large: str
    ended: str
    seconds: int = 300
    idle: int = 120
    memory: int = 4 << 30


@dataclass(frozen=True)
class Told:
    """How far a process is."""

    share: float
    stage: str


def ask_apart(module: str, request: object, watch: Watch, bounds: Bounds) -> Any:
    """The answer of a process that is gone afterwards."""
    apart = Apart(module, bounds)
    try:
        return apart.ask(request, watch)
    finally:
        apart.end()


class Apart:
    """A process that answers one request after the other: after the first, it has imported what takes seconds.

    It is ended where nobody waits for its answer any more, and ends by itself after `Bounds.idle` seconds without a request.
    """

    def __init__(self, module: str, bounds: Bounds) -> None:
        self._module, self._bounds = module, bounds
        self._connection: Connection | None = None
        self._asked_until = 0.0
        self.end: Callable[[], object] = lambda: None

    def ask(self, request: object, watch: Watch) -> Any:
        """The answer; raises the `Refusal` that the process sends, or what `watch` raises. One thread at a time."""
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
        """The connection to the process that waits, or to a new one."""
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
    """The process, which waits for a request."""
    # In a session of its own: Ctrl-C in a terminal is the server's; it ends with the connection.
    return subprocess.Popen(
        own_module(module, str(descriptor)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[descriptor],
        start_new_session=True,
        env=environment() | ALONE,
    )


def _answer(connection: Connection, watch: Watch, bounds: Bounds) -> Any:
    """What the process sends at the end; until then, how far it is."""
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
    """Nothing is sent to this process while it works: what can be read then is the end of the connection.

    The lock holds back the end of the work, after which the next request can be read, while the connection is looked at.
    """
    while True:
        working.wait()
        with looking:
            if working.is_set() and connection.poll():
                os._exit(0)
        sleep(LOOK_SECONDS)


def keep_within(bounds: Bounds) -> None:
    """Bound time and memory by the system, which does so even where compiled code lets no thread run."""
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
    """One process of a server works at a time, by the lock of a file that its processes share.

    `readers` threads of this process work or wait at once; `busy` is told to who comes beyond, or has waited too long.
    """

    def __init__(self, lock: Path, readers: int, busy: str, patience: float) -> None:
        self._lock, self._busy, self._patience = lock, busy, patience
        self.room = Room(readers, busy)

    @contextmanager
    def turn(self, job: Job) -> Iterator[None]:
        """Wait for the turn and hold it within the context. Raises `Refusal` where there is none, or nobody waits any more."""
        with self.room.entered(), self._lock.open("w") as turn:
            deadline = monotonic() + self._patience
            while not locked(turn):
                if job.reader_left_or_cancelled:
                    raise ReaderLeft
                if monotonic() > deadline:
                    raise NotYet(self._busy)
                sleep(LOOK_SECONDS)
            yield
