"""One thing at a time: whoever asks waits for a turn, in the order they came, and not longer than their reader does."""

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Event, Lock
from time import monotonic
from typing import TypeVar

from dashboard.web.cache import CACHE
from dashboard.web.errors import ReaderLeft, Refusal

#: Seconds between two looks at whether the reader is still there.
PAUSE = 0.05
#: Seconds that a reader waits for a turn: a thread of the server waits with them.
PATIENCE = 20.0
T = TypeVar("T")


class Turns:
    """A bounded line; the first of it has the turn.

    `busy` is what a reader is told where the line is full, and who has waited for `patience` seconds.
    """

    def __init__(self, most_waiting: int, busy: str, *, patience: float = PATIENCE) -> None:
        self._most, self._busy, self._patience = most_waiting + 1, busy, patience
        self._line: deque[Event] = deque()
        self._lock = Lock()

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return max(0, len(self._line) - 1)

    def cached(self, owner: object, key: Hashable, compute: Callable[[], T], gone: Callable[[], bool]) -> T:
        """The cached result at once, else what `compute` returns in turn. Whoever waits for the same gets the same."""
        found: T | None = CACHE.find(owner, key)
        if found is not None:
            return found
        with self.turn(gone):
            return CACHE.get(owner, key, compute)  # another reader may have asked for the same, and been before us

    @contextmanager
    def turn(self, gone: Callable[[], bool]) -> Iterator[None]:
        """Wait for the turn, and have it for as long as the context lasts. Refused where the line is full or `gone`."""
        mine, deadline = self._join(), monotonic() + self._patience
        try:
            while not mine.wait(PAUSE):
                _check_there(gone)
                self._check_time(deadline)
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

    def _check_time(self, deadline: float) -> None:
        if monotonic() > deadline:
            raise Refusal(self._busy, 503)

    def _leave(self, mine: Event) -> None:
        with self._lock:
            self._line.remove(mine)
            if self._line:
                self._line[0].set()


def _check_there(gone: Callable[[], bool]) -> None:
    if gone():
        raise ReaderLeft
