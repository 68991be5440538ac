"""The one process of a server that runs the model, and how its workers ask it.

`python -m dashboard.sentence.encoder_process FOLDER IDLE` serves; a worker starts it when the first sentence is typed
(`RemoteEncoder`). It ends with the server, and after `IDLE` seconds without a request.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from threading import Thread

from dashboard.sentence.encoder import BUSY, CorpusModel, Encoder
from dashboard.sentence.sentence import Sentence
from dashboard.web.admission import PAUSE, Room, Step, current_tell, steps_told_to
from dashboard.web.errors import NotYet, ReaderLeft, Refusal, sentence_for
from dashboard.web.processes import ServerFolder, environment, own_module, return_freed_memory
from dashboard.web.results import BUDGET, Cache

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
#: Connections that wait to be accepted.
BACKLOG = 64
#: Seconds between two checks for requests.
IDLE_PAUSE = 1.0
#: The name of the queue in the metrics: readers who wait for a typed sentence.
QUEUE = "typed sentences"
STARTS = "Starting the process that runs the model"
Request = tuple[CorpusModel, str, str]


class RemoteEncoder:
    """Sentences come from the one process that has the model; workers have no torch."""

    def __init__(self, folder: ServerFolder, *, patience: float = PATIENCE, idle: float = IDLE) -> None:
        self._folder = folder
        self._idle = idle
        self._patience = patience
        # No more threads of this worker wait than the process has room for, even before it listens.
        self._room = Room(READERS, BUSY, name=QUEUE)

    @property
    def is_running(self) -> bool:
        """Whether the process is there: its next sentence does not wait for a model."""
        return self._folder.encoder_process is not None

    def encode(self, model: CorpusModel, text: str, second: str, has_left: Callable[[], bool]) -> Sentence:
        """As `Encoder.encode`."""
        request, deadline = (model, text, second), time.monotonic() + self._patience
        with self._room.entered(), self._connect(deadline) as connection:
            answer = _ask(connection, request, lambda: _check(has_left, deadline))
        if isinstance(answer, Refusal):
            raise answer
        assert isinstance(answer, Sentence)
        return answer

    def _connect(self, deadline: float) -> Connection:
        return self._existing_connection() or self._started(deadline)

    def _existing_connection(self) -> Connection | None:
        try:
            return Client(str(self._folder.socket), "AF_UNIX")
        except OSError:  # no process listens
            return None

    def _started(self, deadline: float) -> Connection:
        """A connection to the process that this worker starts, or another worker has started meanwhile."""
        current_tell()(STARTS)
        with self._folder.starting():
            connection = self._existing_connection()
            if connection is None:
                _check_time(deadline)
                process = self._start()
            while connection is None:
                _check_time(deadline)
                if process.poll() is not None:
                    raise Refusal(ENDED, 503)
                time.sleep(PAUSE)
                connection = self._existing_connection()
            return connection

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
        Thread(target=process.wait, daemon=True).start()  # so that it leaves no zombie
        return process


def _ask(connection: Connection, request: tuple[CorpusModel, str, str], check: Callable[[], None]) -> object:
    try:
        connection.send(request)
        while True:
            while not connection.poll(PAUSE):
                check()
            answer = connection.recv()
            if not isinstance(answer, Step):
                return answer
            current_tell()(answer.title)
    except (OSError, EOFError) as error:
        raise Refusal(ENDED, 503) from error


def _check(has_left: Callable[[], bool], deadline: float) -> None:
    if has_left():
        raise ReaderLeft
    _check_time(deadline)


def _check_time(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise NotYet(SLOW)


class EncoderProcess:
    """Answers every connection with one sentence, or with the `Refusal` of it."""

    def __init__(self, folder: ServerFolder, idle: float, encoder: Encoder | None = None) -> None:
        self._folder = folder
        self._idle = idle
        self._encoder = encoder or Encoder()
        self._cache = Cache(BUDGET)
        self._under_way = 0
        self._last = time.monotonic()
        self._lock = threading.Lock()

    def serve(self) -> None:
        """Serve until there was no request for `idle` seconds, or the server has ended."""
        self._folder.socket.unlink(missing_ok=True)  # of one that died
        with self._folder.encoding(), Listener(str(self._folder.socket), "AF_UNIX", BACKLOG) as listener:
            for work in (self._end_with_server, self._end_when_idle):
                threading.Thread(target=work, daemon=True).start()
            while True:
                with suppress(OSError):  # a client that has gone already
                    connection = listener.accept()
                    threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: Connection) -> None:
        with self._lock:
            self._under_way += 1
        with connection, suppress(EOFError, OSError):  # the reader has left
            connection.send(self._result(connection.recv(), connection))
        with self._lock:
            self._under_way -= 1
            self._last = time.monotonic()

    def _result(self, request: Request, connection: Connection) -> object:
        """A client sends one request; anything readable after it is the end of the connection."""
        try:
            with steps_told_to(lambda step: _tell(connection, step)):
                return self._cache.get(
                    self._encoder, request, lambda: self._encoder.encode(*request, has_left=connection.poll)
                )
        except NotYet as later:
            return later
        except Exception as error:
            return Refusal(*sentence_for(error))

    def _end_with_server(self) -> None:
        with suppress(FileNotFoundError):  # it ended in good order
            self._folder.wait_for_end()
        self._folder.remove()
        os._exit(0)

    def _end_when_idle(self) -> None:
        while not self._is_idle():
            time.sleep(min(IDLE_PAUSE, self._idle))
        self._folder.socket.unlink(missing_ok=True)
        time.sleep(IDLE_PAUSE)  # clients that connected just before are answered; later ones find no socket
        while self._under_way:
            time.sleep(IDLE_PAUSE)
        os._exit(0)

    def _is_idle(self) -> bool:
        with self._lock:
            return not self._under_way and time.monotonic() - self._last >= self._idle


def _tell(connection: Connection, step: str) -> None:
    with suppress(OSError):  # the reader has left; others may wait for the same sentence
        connection.send(Step(step))


def main(arguments: Sequence[str]) -> None:
    """Serve in a folder."""
    return_freed_memory()
    folder, idle = arguments
    EncoderProcess(ServerFolder(Path(folder)), float(idle)).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
