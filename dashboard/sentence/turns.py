"""One thing at a time: whoever asks waits for a turn, in the order they came, and not longer than their reader does."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock

from dashboard.problems import Refusal

#: Seconds between two looks at whether the reader is still there.
PAUSE = 0.05
BUSY = "The server is busy with sentences of other readers. Try again in a few seconds."
#: Nobody reads it, but the server's log does. The status is nginx's for a client that closed the connection.
LEFT, LEFT_STATUS = "The reader left before it was their turn. Ask again.", 499


class Turns:
    """A bounded line; the first of it has the turn."""

    def __init__(self, most_waiting: int) -> None:
        self._most = most_waiting + 1
        self._line: deque[Event] = deque()
        self._lock = Lock()

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return max(0, len(self._line) - 1)

    @contextmanager
    def turn(self, gone: Callable[[], bool]) -> Iterator[None]:
        """Wait for the turn, and have it for as long as the context lasts. Refused where the line is full or `gone`."""
        mine = self._join()
        try:
            while not mine.wait(PAUSE):
                _check_there(gone)
            _check_there(gone)
            yield
        finally:
            self._leave(mine)

    def _join(self) -> Event:
        with self._lock:
            if len(self._line) >= self._most:
                raise Refusal(BUSY, 503)
            self._line.append(Event())
            self._line[0].set()
            return self._line[-1]

    def _leave(self, mine: Event) -> None:
        with self._lock:
            self._line.remove(mine)
            if self._line:
                self._line[0].set()


def _check_there(gone: Callable[[], bool]) -> None:
    if gone():
        raise Refusal(LEFT, LEFT_STATUS)
