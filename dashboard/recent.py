"""What was computed last, kept under its key."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """The `most` results that were asked for last. Two threads may both compute one; both get the same."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What is kept under the key, or else what `compute` gives."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        return self._keep(key, compute())

    def find(self, key: Hashable) -> T | None:
        """What is kept under the key."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def forget(self, key: Hashable) -> None:
        """Keep nothing under the key."""
        with self._lock:
            self._kept.pop(key, None)

    def _keep(self, key: Hashable, computed: T) -> T:
        with self._lock:
            kept = self._kept.setdefault(key, computed)
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return kept
