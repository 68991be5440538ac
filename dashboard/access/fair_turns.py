"""Turns to check a password: each address has a queue of its own, and the queues take turns."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from weakref import WeakValueDictionary

from dashboard.web.admission import Turns
from dashboard.web.errors import Refusal

#: Passwords of an address that wait to be checked: a check takes a fifth of a second and 32 MiB.
WAITING = 3
BUSY = "Too many people sign in at this moment. Try again in a few seconds."
BUSY_HERE = "Too many people sign in from your address at this moment. Try again in a few seconds."


class FairTurns:
    """One password is checked at a time. However many an address sends, others wait for one of them.

    `most` passwords wait or are checked at once, and `waiting` do now: each holds a thread of the server.
    """

    def __init__(self, most: int) -> None:
        self._most, self.waiting = most, 0
        self._first = Turns(most, BUSY, name="passwords")
        self._queues: WeakValueDictionary[str, Turns] = WeakValueDictionary()
        self._lock = Lock()

    @contextmanager
    def turn(self, sender: str, has_left: Callable[[], bool]) -> Iterator[None]:
        """Wait for the turn of a sender and hold it within the context. Raises `Refusal` where a queue is full."""
        with self._lock:
            if self.waiting == self._most:
                raise Refusal(BUSY, 503)
            self.waiting += 1
            own = self._queues.setdefault(sender, Turns(WAITING, BUSY_HERE, name="passwords of an address"))
        try:
            with own.turn(has_left), self._first.turn(has_left):
                yield
        finally:
            with self._lock:
                self.waiting -= 1
