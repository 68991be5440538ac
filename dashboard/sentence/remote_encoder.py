"""The encoder process of a server, as its workers see it: started when it is needed, and again when it has ended."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Client, Connection
from threading import BoundedSemaphore, Thread

from dashboard.sentence.encoder import BUSY, CorpusModel
from dashboard.sentence.sentence import Sentence
from dashboard.web.admission import PAUSE
from dashboard.web.errors import ReaderLeft, Refusal
from dashboard.web.own_module import environment, own_module
from dashboard.web.server_folder import ServerFolder

#: Seconds that a thread of the server waits for a sentence, and for the process to listen.
PATIENCE = 25.0
#: Threads of a worker that wait for sentences at once: the others still answer.
READERS = 5
#: Seconds without a request after which the encoder process ends, so that its memory goes back to the system.
IDLE = 600.0
#: Threads of one product wait for each other where workers have the cores: with two, ten readers waited 1.5 s, with one 0.25 s.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
SLOW = "The model is still being loaded, or busy. Try again in a few seconds."
ENDED = "The process that runs the model has ended. Try again: it is started anew."


class RemoteEncoder:
    """Sentences come from the one process that has the model; workers have no torch."""

    def __init__(self, folder: ServerFolder, *, patience: float = PATIENCE, idle: float = IDLE) -> None:
        self._folder = folder
        self._idle = idle
        self._patience = patience
        self._room = BoundedSemaphore(READERS)

    def encode(self, model: CorpusModel, text: str, second: str, gone: Callable[[], bool]) -> Sentence:
        """As `Encoder.encode`."""
        asked, deadline = (model, text, second), time.monotonic() + self._patience
        with self._admitted(), self._connect(deadline) as connection:
            answer = _answer(connection, asked, lambda: _check(gone, deadline))
        if isinstance(answer, Refusal):
            raise answer
        assert isinstance(answer, Sentence)
        return answer

    @contextmanager
    def _admitted(self) -> Iterator[None]:
        """No more threads of this worker wait than the process has room for, even before it listens."""
        if not self._room.acquire(blocking=False):
            raise Refusal(BUSY, 503)
        try:
            yield
        finally:
            self._room.release()

    def _connect(self, deadline: float) -> Connection:
        return self._found() or self._started(deadline)

    def _found(self) -> Connection | None:
        try:
            return Client(str(self._folder.socket), "AF_UNIX")
        except OSError:  # there is none, or not any more
            return None

    def _started(self, deadline: float) -> Connection:
        """A connection to the process that this worker starts, or another worker has started meanwhile."""
        with self._folder.starting():
            found = self._found()
            if found is None:
                _check_time(deadline)
                process = self._start()
            while found is None:
                _check_time(deadline)
                if process.poll() is not None:
                    raise Refusal(ENDED, 503)
                time.sleep(PAUSE)
                found = self._found()
            return found

    def _start(self) -> "subprocess.Popen[bytes]":
        module = "dashboard.sentence.encoder_process"
        command = own_module(module, str(self._folder.path), str(self._idle))
        # In a session of its own: Ctrl-C in a terminal is the server's; it ends when the server has ended.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env=environment() | ONE_THREAD,
        )
        Thread(target=process.wait, daemon=True).start()  # so that the system can forget it as soon as it has ended
        return process


def _answer(connection: Connection, asked: tuple[CorpusModel, str, str], check: Callable[[], None]) -> object:
    try:
        connection.send(asked)
        while not connection.poll(PAUSE):
            check()
        return connection.recv()
    except (OSError, EOFError) as error:
        raise Refusal(ENDED, 503) from error


def _check(gone: Callable[[], bool], deadline: float) -> None:
    if gone():
        raise ReaderLeft
    _check_time(deadline)


def _check_time(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise Refusal(SLOW, 503)
