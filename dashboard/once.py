"""What is computed once for each opened corpus, or part of one: a snapshot never changes. It is forgotten with the corpus."""

from collections.abc import Callable, Hashable
from functools import wraps
from threading import Lock
from typing import TypeVar
from weakref import WeakKeyDictionary

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def once(compute: Callable[[K], T]) -> Callable[[K], T]:
    """The same function of what is opened, computed at its first call. Two threads may both compute it; both get the same."""
    known: WeakKeyDictionary[K, T] = WeakKeyDictionary()
    lock = Lock()

    @wraps(compute)
    def kept(opened: K) -> T:
        if opened in known:
            return known[opened]
        computed = compute(opened)
        with lock:
            return known.setdefault(opened, computed)

    return kept
