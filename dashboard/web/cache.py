"""Results that are computed once and cached: one budget in bytes for the whole process, the least recently used leave first."""

import weakref
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeVar

from cachetools import LRUCache

from dashboard.web.errors import ReaderLeft
from dashboard.web.memory_size import memory_size

#: Bytes that cached results may hold in a process; a worker is to stay below 450 MB with everything else. Three times as
#: many took 66 MB and no time off a thousand mixed requests by eight readers.
BUDGET = 32 << 20
K = TypeVar("K")
P = ParamSpec("P")
T = TypeVar("T")
_MISSING: Any = object()
Key = tuple[weakref.ref[Any], Hashable]


class Cache:
    """Results under an owner, such as a corpus, and a key.

    An owner is not kept alive by its results; they leave after it has gone. What is larger than the whole budget is
    returned and not cached. A result may not grow once it is cached: it is measured when it is added.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._results: LRUCache[Key, Any] = LRUCache(budget, memory_size)
        self._under_way: dict[Key, Future[Any]] = {}
        self._lock = Lock()
        self._orphans = False

    @property
    def size(self) -> int:
        """Bytes that the cached results hold."""
        return int(self._results.currsize)

    def find(self, owner: object, key: Hashable) -> Any | None:
        """The cached result, None where there is none."""
        with self._lock:
            return self._results.get((weakref.ref(owner), key))

    def get(self, owner: object, key: Hashable, compute: Callable[[], T]) -> T:
        """The cached result, or what `compute` returns. Threads that ask for the same at once share one computation.

        They share its error too, unless that is about the one reader who asked first.
        """
        full = weakref.ref(owner), key
        while True:
            with self._lock:
                if (found := self._results.get(full, _MISSING)) is not _MISSING:
                    return found
                under_way = self._under_way.get(full)
                if under_way is None:
                    mine = self._under_way[full] = Future[T]()
                    break
            with suppress(ReaderLeft):  # that of the other; this one is still there
                return under_way.result()
        return self._compute(full, mine, compute)

    def _compute(self, full: Key, mine: "Future[T]", compute: Callable[[], T]) -> T:
        try:
            result = compute()
            self._add(full, result)
        except BaseException as error:
            self._end(full)
            mine.set_exception(error)
            raise
        self._end(full)
        mine.set_result(result)
        return result

    def _add(self, full: Key, result: object) -> None:
        owner, key = full[0](), full[1]
        with self._lock:
            self._remove_orphans()
            if owner is not None and memory_size(result) <= self.budget:
                self._results[weakref.ref(owner, self._orphaned), key] = result

    def _orphaned(self, _owner: weakref.ref[Any]) -> None:
        """Called wherever an owner has gone, even where this thread changes the cache just now: then it is done there."""
        self._orphans = True
        if self._lock.acquire(blocking=False):
            try:
                self._remove_orphans()
            finally:
                self._lock.release()

    def _remove_orphans(self) -> None:
        while self._orphans:
            self._orphans = False
            for orphan in [key for key in self._results if key[0]() is None]:
                del self._results[orphan]

    def _end(self, full: Key) -> None:
        with self._lock:
            del self._under_way[full]


#: That of this process.
CACHE = Cache(BUDGET)


def cached(compute: Callable[Concatenate[K, P], T]) -> Callable[Concatenate[K, P], T]:
    """The same function, its results cached under its first argument, which owns them, and the others, which are hashable."""

    @wraps(compute)
    def lookup(owner: K, /, *arguments: P.args, **named: P.kwargs) -> T:
        key = (compute, arguments, tuple(sorted(named.items())))
        return CACHE.get(owner, key, lambda: compute(owner, *arguments, **named))

    return lookup
