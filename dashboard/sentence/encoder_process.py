"""`python -m dashboard.sentence.encoder_process FOLDER IDLE`: the one process of a server that has models loaded.

A worker starts it when the first sentence is typed. It ends with the server, and after `IDLE` seconds without a request.
"""

import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Listener
from pathlib import Path

from dashboard.sentence.encoder import CorpusModel, Encoder
from dashboard.web.allocator import return_freed_memory
from dashboard.web.cache import CACHE
from dashboard.web.errors import Refusal, sentence_for
from dashboard.web.server_folder import ServerFolder

#: Connections that wait to be accepted.
BACKLOG = 64
#: Seconds between two looks at whether anybody has asked.
PAUSE = 1.0
Asked = tuple[CorpusModel, str, str]


class EncoderProcess:
    """Answers every connection with one sentence, or with the `Refusal` of it."""

    def __init__(self, folder: ServerFolder, idle: float) -> None:
        self._folder = folder
        self._idle = idle
        self._encoder = Encoder()
        self._under_way = 0
        self._last = time.monotonic()
        self._lock = threading.Lock()

    def serve(self) -> None:
        """Until nobody has asked for `idle` seconds, or the server has ended."""
        self._folder.socket.unlink(missing_ok=True)  # of one that died
        with Listener(str(self._folder.socket), "AF_UNIX", BACKLOG) as listener:
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

    def _result(self, asked: Asked, connection: Connection) -> object:
        """A client sends nothing more: what can be read then is the end of the connection."""
        try:
            return CACHE.get(self._encoder, asked, lambda: self._encoder.encode(*asked, gone=connection.poll))
        except Exception as error:
            return Refusal(*sentence_for(error))

    def _end_with_server(self) -> None:
        with suppress(FileNotFoundError):  # it ended in good order
            self._folder.wait_for_end()
        self._folder.remove()
        os._exit(0)

    def _end_when_idle(self) -> None:
        while not self._is_idle():
            time.sleep(min(PAUSE, self._idle))
        self._folder.socket.unlink(missing_ok=True)
        time.sleep(PAUSE)  # who has connected just before is answered, whoever comes later finds no socket
        while self._under_way:
            time.sleep(PAUSE)
        os._exit(0)

    def _is_idle(self) -> bool:
        with self._lock:
            return not self._under_way and time.monotonic() - self._last >= self._idle


def main(arguments: Sequence[str]) -> None:
    """Serve in a folder."""
    return_freed_memory()
    folder, idle = arguments
    EncoderProcess(ServerFolder(Path(folder)), float(idle)).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
