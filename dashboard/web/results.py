"""Cached results of an application: one budget in bytes, the least recently used are removed first."""

import sys
import weakref
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import is_dataclass
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
import xarray as xr
from cachetools import LRUCache

from dashboard.web.errors import ReaderLeft

#: Bytes that the cached results of an application may hold; a worker is to stay below 450 MB with everything else. A budget
#: three times as large took 66 MB more and saved no time in a thousand mixed requests by eight readers.
BUDGET = 32 << 20
#: Share of the budget that one result may take: a larger one would push nearly all others out.
MOST = 1 / 2
K = TypeVar("K")
P = ParamSpec("P")
T = TypeVar("T")
#: Types of values without parts.
_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})
Key = tuple[weakref.ref[Any], Hashable]


def memory_size(value: object) -> int:
    """Bytes of a value and of what it refers to: arrays, texts, containers, dataclasses, each counted once.

    A view of a larger array counts as the whole array, which it keeps in memory. What a lazy array would read does not
    count, nor does code, nor an opened corpus.
    """
    seen: set[int] = set()
    pending: list[object] = [value]
    total = 0
    while pending:
        part = pending.pop()
        if id(part) not in seen:
            seen.add(id(part))
            total += sys.getsizeof(part)  # of an array without memory of its own, its header
            if type(part) not in _PLAIN:
                total += _bytes_beyond(part)
                pending.extend(_parts(part))
    return total


def _bytes_beyond(value: object) -> int:
    """Bytes of an array that Python does not count: texts of variable width, and memory of another library, as torch's."""
    if not isinstance(value, np.ndarray):
        return 0
    if value.dtype.kind == "T":
        return int(np.strings.str_len(value).sum())
    return 0 if value.base is None or isinstance(value.base, np.ndarray | bytes) else value.nbytes


def _parts(value: Any) -> Iterable[object]:
    if isinstance(value, np.ndarray):
        texts = value.ravel().tolist() if value.dtype == object else []
        return texts if value.base is None else [value.base, *texts]
    if isinstance(value, xr.DataArray):
        return [value.variable, *(coordinate.variable for coordinate in value.coords.values())]
    if isinstance(value, xr.Dataset):
        return list(value.variables.values())
    if isinstance(value, xr.Variable):
        return [value._data]  # `data` would read a lazy array
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return value
    return vars(value).values() if is_dataclass(value) and not isinstance(value, type) else []


class _Result(NamedTuple):
    value: Any
    size: int


class Cache:
    """Results under an owner, such as a corpus, and a key.

    The cache does not keep an owner alive, and removes its results after it. A result larger than `MOST` of the budget is
    returned and not cached. A cached result must not grow: its size is measured when it is added.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._results: LRUCache[Key, _Result] = LRUCache(budget, lambda result: result.size)
        self._under_way: dict[Key, Future[Any]] = {}
        self._lock = Lock()
        self._orphans = False
        #: Results that `get` has found, and that it has computed.
        self.hits = self.misses = 0

    def run(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call a function; what it computes is cached here."""
        token = _CURRENT.set(self)
        try:
            return function(*arguments, **named)
        finally:
            _CURRENT.reset(token)

    @property
    def size(self) -> int:
        """Bytes that the cached results hold."""
        return int(self._results.currsize)

    def find(self, owner: object, key: Hashable) -> Any | None:
        """The cached result, None where there is none."""
        with self._lock:
            found = self._results.get((weakref.ref(owner), key))
            return None if found is None else found.value

    def get(self, owner: object, key: Hashable, compute: Callable[[], T]) -> T:
        """The cached result, or what `compute` returns. Threads that need the same result share one computation.

        They share its error too, unless it is that the reader of the computing thread has left.
        """
        full = weakref.ref(owner), key
        while True:
            with self._lock:
                if (found := self._results.get(full)) is not None:
                    self.hits += 1
                    return found.value
                under_way = self._under_way.get(full)
                if under_way is None:
                    self.misses += 1
                    mine = self._under_way[full] = Future[T]()
                    break
            with suppress(ReaderLeft):  # the other reader; this one is still there
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
        owner, key, size = full[0](), full[1], memory_size(result)
        with self._lock:
            self._remove_orphans()
            if owner is not None and size <= MOST * self.budget:
                self._results[weakref.ref(owner, self._orphaned), key] = _Result(result, size)

    def _orphaned(self, _owner: weakref.ref[Any]) -> None:
        """Called when an owner is collected, even while this thread changes the cache, which then removes the results itself."""
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


_CURRENT: ContextVar[Cache | None] = ContextVar("cache", default=None)


def current_cache() -> Cache:
    """The cache of the application that this thread works for; outside of any, as in a notebook, one of the thread."""
    cache = _CURRENT.get()
    if cache is None:
        _CURRENT.set(cache := Cache(BUDGET))
    return cache


def cached(compute: Callable[Concatenate[K, P], T]) -> Callable[Concatenate[K, P], T]:
    """The same function, its results cached: the first argument owns them, the others are hashable."""

    @wraps(compute)
    def lookup(owner: K, /, *arguments: P.args, **named: P.kwargs) -> T:
        key = (compute, arguments, tuple(sorted(named.items())))
        return current_cache().get(owner, key, lambda: compute(owner, *arguments, **named))

    return lookup
