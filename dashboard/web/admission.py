"""Admission: long work runs for one reader at a time, reports its steps to the reader, and stops when the reader disconnects."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Event, Lock
from time import monotonic
from typing import Any
from weakref import WeakValueDictionary

from flask import has_request_context, request

from dashboard.web.errors import NotYet, ReaderLeft, Refusal

#: Seconds between two checks whether the reader is still connected.
LOOK_SECONDS = 0.05
#: Seconds that a reader may wait for a turn; the reader holds a thread of the server meanwhile.
PATIENCE = 20.0
#: The WSGI key of waitress for a function that says whether the client has closed the connection.
DISCONNECTED = "waitress.client_disconnected"
_CANCELLED: ContextVar[Callable[[], bool] | None] = ContextVar("cancelled", default=None)
Tell = Callable[[str], None]


class Meter:
    """Counts readers in queues; this base class counts nothing."""

    def joined(self, queue: str) -> None:
        """Count a reader who begins to wait for a turn."""

    def began(self, queue: str, seconds: float) -> None:
        """Count a reader who gets the turn after these seconds."""

    def left(self, queue: str) -> None:
        """Count a reader who stops waiting, or whose turn has ended."""

    def refused(self, queue: str) -> None:
        """Count a reader who found the queue full, or waited too long."""


_METER: ContextVar[Meter] = ContextVar("meter", default=Meter())  # noqa: B039  # a Meter has no state


@contextmanager
def metered_by(meter: Meter) -> Iterator[None]:
    """Let a meter count the readers of this thread within the context."""
    token = _METER.set(meter)
    try:
        yield
    finally:
        _METER.reset(token)


def current_meter() -> Meter:
    """The meter of the application that this thread works for."""
    return _METER.get()


class Room:
    """Room for `most` readers at once: further readers are refused at once.

    `busy` is the message to refused readers; `name` is the queue's name in the metrics, which do not count a room without a name.
    """

    def __init__(self, most: int, busy: str, *, name: str = "") -> None:
        self._most, self._busy, self._name = most, busy, name
        self._lock = Lock()
        #: Number of readers in the room.
        self.taken = 0

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Take a place in the room within the context. Raises `Refusal` where the room is full."""
        meter = current_meter() if self._name else Meter()
        with self._lock:
            if self.taken == self._most:
                meter.refused(self._name)
                raise NotYet(self._busy)
            self.taken += 1
        try:
            meter.joined(self._name)
            yield
        finally:
            with self._lock:
                self.taken -= 1
            meter.left(self._name)


class WaitingLine:
    """A bounded queue of readers; the first has the turn.

    `busy` is the message to a reader who finds the queue full, or who has waited for `patience` seconds; `name` is the
    queue's name in the metrics.
    """

    def __init__(self, most_waiting: int, busy: str, *, name: str = "others", patience: float = PATIENCE) -> None:
        self._most, self._busy, self._patience, self._name = most_waiting + 1, busy, patience, name
        self._queue: deque[Event] = deque()
        self._lock = Lock()

    @property
    def waiting(self) -> int:
        """Number of readers who wait for their turn."""
        return max(0, len(self._queue) - 1)

    @contextmanager
    def turn(self, has_left: Callable[[], bool]) -> Iterator[None]:
        """Wait for the turn and hold it within the context. Raises `Refusal` where the queue is full or the reader left."""
        own, began = self._join(), monotonic()
        try:
            current_meter().joined(self._name)
            while not own.wait(LOOK_SECONDS):
                _check_present(has_left)
                self._check_time(began + self._patience)
            _check_present(has_left)
            current_meter().began(self._name, monotonic() - began)
            yield
        finally:
            self._leave(own)

    def _join(self) -> Event:
        with self._lock:
            if len(self._queue) >= self._most:
                raise self._refusal()
            self._queue.append(Event())
            self._queue[0].set()
            return self._queue[-1]

    def _check_time(self, deadline: float) -> None:
        if monotonic() > deadline:
            raise self._refusal()

    def _refusal(self) -> Refusal:
        current_meter().refused(self._name)
        return NotYet(self._busy)

    def _leave(self, own: Event) -> None:
        with self._lock:
            self._queue.remove(own)
            if self._queue:
                self._queue[0].set()
        current_meter().left(self._name)


class FairWaitingLine:
    """A queue with one turn at a time. Of each sender only one request stands in the common queue, so senders take turns.

    At most `most` requests wait or have the turn, and `of_sender` of one sender, as each holds a thread. `busy` and `busy_here`
    are the messages to further requests; `name` is the queue's name in the metrics.
    """

    def __init__(self, most: int, of_sender: int, busy: str, busy_here: str, *, name: str) -> None:
        self._room = Room(most, busy)
        self._first = WaitingLine(most, busy, name=name)
        self._of_sender, self._busy_here, self._name = of_sender, busy_here, name
        self._queues: WeakValueDictionary[str, WaitingLine] = WeakValueDictionary()
        self._lock = Lock()

    @property
    def waiting(self) -> int:
        """Number of requests that wait or have the turn."""
        return self._room.taken

    @contextmanager
    def turn(self, sender: str, has_left: Callable[[], bool]) -> Iterator[None]:
        """Wait for the turn of a sender and hold it within the context. Raises `Refusal` where a queue is full."""
        with self._room.entered(), self._queue(sender).turn(has_left), self._first.turn(has_left):
            yield

    def _queue(self, sender: str) -> WaitingLine:
        with self._lock:
            new = WaitingLine(self._of_sender, self._busy_here, name=f"{self._name} of an address")
            return self._queues.setdefault(sender, new)


def _check_present(has_left: Callable[[], bool]) -> None:
    if has_left():
        raise ReaderLeft


@contextmanager
def cancelled_by(is_cancelled: Callable[[], bool]) -> Iterator[None]:
    """Within the context, `reader_left` is also True where `is_cancelled` returns True."""
    token = _CANCELLED.set(is_cancelled)
    try:
        yield
    finally:
        _CANCELLED.reset(token)


def reader_left() -> bool:
    """Whether the reader cancelled the work of this thread, or closed the connection of its request."""
    is_cancelled = _CANCELLED.get()
    if is_cancelled is not None and is_cancelled():
        return True
    return has_request_context() and client_disconnected(request.environ)


def client_disconnected(environ: Mapping[str, Any]) -> bool:
    """Whether the client of a WSGI request has closed its connection; False where the server does not know."""
    disconnected: Callable[[], bool] | None = environ.get(DISCONNECTED)
    return disconnected is not None and disconnected()


@dataclass(frozen=True)
class Step:
    """Name of a step that one process sends to another before the answer."""

    title: str


def _nobody(_step: str) -> None:
    """Report a step to nobody."""


_TELL: ContextVar[Tell] = ContextVar("tell", default=_nobody)


@contextmanager
def steps_told_to(tell: Tell) -> Iterator[None]:
    """Within the context, call `tell` with every step of this thread's work."""
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)


def current_tell() -> Tell:
    """The function that gets the steps of this thread; work that continues in another thread passes it on."""
    return _TELL.get()
