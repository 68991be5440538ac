"""One thing at a time: whoever asks waits for a turn, in the order they came, and not longer than their reader does."""

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Event, Lock
from typing import TypeVar

from dashboard.problems import Refusal
from dashboard.recent import Recent

#: Seconds between two looks at whether the reader is still there.
PAUSE = 0.05
#: Nobody reads it, but the server's log does. The status is nginx's for a client that closed the connection.
LEFT, LEFT_STATUS = "The reader left before it was their turn. Ask again.", 499
T = TypeVar("T")


class Turns:
    """A bounded line; the first of it has the turn. Where it is full, `busy` is what the next one is told."""

    def __init__(self, most_waiting: int, busy: str) -> None:
        self._most, self._busy = most_waiting + 1, busy
        self._line: deque[Event] = deque()
        self._lock = Lock()

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return max(0, len(self._line) - 1)

    def kept(self, recent: Recent[T], key: Hashable, compute: Callable[[], T], gone: Callable[[], bool]) -> T:
        """What is kept under the key at once, else what `compute` gives in turn. Whoever waits for the same gets the same."""
        found = recent.find(key)
        if found is not None:
            return found
        with self.turn(gone):
            return recent.get(key, compute)  # somebody may have asked for the same, and been before us

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
                raise Refusal(self._busy, 503)
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
