"""What a reader who waits is told: the step that the work is at."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """A step as one process tells another; the answer comes later."""

    title: str


Tell = Callable[[str], None]


def _nobody(_step: str) -> None:
    """Nobody waits."""


_TELL: ContextVar[Tell] = ContextVar("tell", default=_nobody)


@contextmanager
def steps_told_to(tell: Tell) -> Iterator[None]:
    """Within the context this function is told every step of what this thread does."""
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)


def current_tell() -> Tell:
    """Who is told the steps of this thread; work that goes on in another thread takes it along."""
    return _TELL.get()
