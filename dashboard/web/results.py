"""Cached results: in the memory of a process and in files that all processes of a server share, each within a budget of bytes.

The least recently used are removed first. Nothing depends on a cached result: a missing one is computed again.
"""

import os
import shutil
import sys
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import is_dataclass
from functools import wraps
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from struct import Struct
from threading import Lock
from typing import IO, Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar

import google_crc32c
import numpy as np
import xarray as xr
from cachetools import LRUCache
from numpy.typing import NDArray

from dashboard.web.errors import ReaderLeft
from store.repository.files import new_file

#: Most bytes of the cached results of an application; a worker as a whole should stay below 450 MB. A budget three times as
#: large took 66 MB more and saved no time in a thousand mixed requests by eight readers.
BUDGET = 32 << 20
#: Largest share of the budget for one result: a larger result would evict nearly all others.
MOST_OF_BUDGET = 1 / 2
K = TypeVar("K")
P = ParamSpec("P")
T = TypeVar("T")
#: Types of values without parts.
_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})
Key = tuple[weakref.ref[Any], Hashable]
#: Head of an entry: checksum of key, description and content; length of the description.
ENTRY_HEAD = Struct("<II")
#: Shares of the budget: largest entry; amount that a process adds between two checks of the folder, and that a check deletes.
ENTRY_SHARE, STEP_SHARE = 1 / 4, 1 / 32
#: Largest share of the free disk for all entries: the rest is for other files.
OF_DISK = 1 / 2
PIECE_BYTES = 1 << 20


def memory_size(value: object) -> int:
    """Bytes of a value and of what it refers to: arrays, texts, containers, dataclasses, each counted once.

    A view of a larger array counts as the whole array, which it keeps in memory. Unread data of lazy
    arrays, code and opened corpora do not count.
    """
    seen: set[int] = set()
    pending: list[object] = [value]
    total = 0
    while pending:
        part = pending.pop()
        if id(part) not in seen:
            seen.add(id(part))
            total += sys.getsizeof(part)  # only the header of an array without memory of its own
            if type(part) not in _PLAIN:
                total += _bytes_beyond(part)
                pending.extend(_parts(part))
    return total


def _bytes_beyond(value: object) -> int:
    """Bytes of an array that `sys.getsizeof` leaves out: texts of variable width, and memory of another library such as torch."""
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

    The cache does not keep an owner alive, and removes its results after it. A result larger than `MOST_OF_BUDGET` of the budget is
    returned and not cached. A cached result must not grow: its size is measured when it is added.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._results: LRUCache[Key, _Result] = LRUCache(budget, lambda result: result.size)
        self._under_way: dict[Key, Future[Any]] = {}
        self._lock = Lock()
        self._orphans = False
        #: Number of results that `get` has found, and that it has computed.
        self.hits = self.misses = 0

    def run(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call a function, with this cache for its results."""
        token = _CURRENT.set(self)
        try:
            return function(*arguments, **named)
        finally:
            _CURRENT.reset(token)

    @property
    def size(self) -> int:
        """Bytes of the cached results."""
        return int(self._results.currsize)

    def find(self, owner: object, key: Hashable) -> Any | None:
        """The cached result, None where there is none."""
        with self._lock:
            found = self._results.get((weakref.ref(owner), key))
            return None if found is None else found.value

    def get(self, owner: object, key: Hashable, compute: Callable[[], T]) -> T:
        """The cached result, or what `compute` returns. Threads that need the same result share one computation.

        They share its error too, except `ReaderLeft` of the computing thread's reader.
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
            with suppress(ReaderLeft):  # the other reader left; this reader still waits
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
            if owner is not None and size <= MOST_OF_BUDGET * self.budget:
                self._results[weakref.ref(owner, self._orphaned), key] = _Result(result, size)

    def _orphaned(self, _owner: weakref.ref[Any]) -> None:
        """Remove results of a collected owner; if this thread changes the cache at the moment, that change removes them."""
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
    """The cache of the application that this thread works for; without one, as in a notebook, a cache of the thread."""
    cache = _CURRENT.get()
    if cache is None:
        _CURRENT.set(cache := Cache(BUDGET))
    return cache


def cached(compute: Callable[Concatenate[K, P], T]) -> Callable[Concatenate[K, P], T]:
    """The function with cached results: the first argument owns them, the other arguments are hashable."""

    @wraps(compute)
    def lookup(owner: K, /, *arguments: P.args, **named: P.kwargs) -> T:
        key = (compute, arguments, tuple(sorted(named.items())))
        return current_cache().get(owner, key, lambda: compute(owner, *arguments, **named))

    return lookup


def free_bytes(folder: Path) -> int:
    """Free bytes on the disk of a folder."""
    return shutil.disk_usage(folder).free


class DiskCache:
    """Files of entries: a key, a short description and a content, verified when they are read.

    Nothing depends on an entry: where the disk is full, or a file is damaged or gone, the entry is missing. `workers`
    processes that share a folder stay within `budget` bytes together, and within half of the free disk.
    """

    def __init__(
        self, folder: Path, budget: int, *, workers: int = 8, free: Callable[[Path], int] = free_bytes
    ) -> None:
        self._folder, self.budget, self._free = folder, budget, free
        self._step = budget * STEP_SHARE
        self._rest = budget - workers * self._step
        self._added = 0
        self._lock = Lock()

    def find(self, key: str) -> tuple[bytes, IO[bytes]] | None:
        """The description, and the open file at the beginning of the content; None without an intact entry."""
        file = self._file(key)
        try:
            opened = file.open("rb")
        except OSError:
            return None
        if (description := _checked(opened, key)) is None:
            opened.close()
            file.unlink(missing_ok=True)
            return None
        _note_use(file)
        return description, opened

    def add(self, key: str, description: bytes, content: IO[bytes]) -> None:
        """Add an entry, unless it is too large. The content is read from its current position, which is restored."""
        begin = content.tell()
        size = ENTRY_HEAD.size + len(description) + content.seek(0, os.SEEK_END) - begin
        content.seek(begin)
        if size > self.budget * ENTRY_SHARE:
            return
        file = self._file(key)
        with suppress(OSError):  # the disk is full, or the server has ended
            self._folder.mkdir(parents=True, exist_ok=True)
            if not self._has_room(size):
                return
            with new_file(file, durable=False) as part:
                _write(part, key, description, content)
        content.seek(begin)

    def _file(self, key: str) -> Path:
        return self._folder / sha256(key.encode()).hexdigest()

    def _has_room(self, size: int) -> bool:
        """Whether there is room for `size` bytes; deletes the least recently used entries for it.

        The folder is checked once this process has added enough since the last check; on a nearly full disk, each time.
        """
        free = self._free(self._folder)
        with self._lock:
            self._added += size
            if self._added <= self._step and OF_DISK * free > self.budget:
                return True
            self._added = size
        entries = _latest_first(self._folder)
        of_disk = int(OF_DISK * (free + sum(bytes_of_file for _, bytes_of_file in entries)))
        if size > ENTRY_SHARE * of_disk:
            return False
        room = min(self._rest, of_disk) - size
        for file, bytes_of_file in entries:
            room -= bytes_of_file
            if room < 0:
                file.unlink(missing_ok=True)
        return True


def _write(part: Path, key: str, description: bytes, content: IO[bytes]) -> None:
    """Write an entry piece by piece, so that a large entry is never whole in memory."""
    total = google_crc32c.value(key.encode() + description)
    with part.open("wb") as written:
        written.write(ENTRY_HEAD.pack(0, 0))
        written.write(description)
        while piece := content.read(PIECE_BYTES):
            total = google_crc32c.extend(total, piece)
            written.write(piece)
        written.seek(0)
        written.write(ENTRY_HEAD.pack(total, len(description)))


def _checked(opened: IO[bytes], key: str) -> bytes | None:
    """The description, with the file at the beginning of the content; None where the file is not the intact entry of the key."""
    head = opened.read(ENTRY_HEAD.size)
    if len(head) < ENTRY_HEAD.size:
        return None
    checksum, length = ENTRY_HEAD.unpack(head)
    description = opened.read(length)
    total, content = google_crc32c.value(key.encode() + description), opened.tell()
    while piece := opened.read(PIECE_BYTES):
        total = google_crc32c.extend(total, piece)
    opened.seek(content)
    return description if total == checksum and content == ENTRY_HEAD.size + length else None


def _note_use(file: Path) -> None:
    try:
        os.utime(file)
    except OSError:  # another process has just deleted it
        return


def _latest_first(folder: Path) -> list[tuple[Path, int]]:
    """Files with their sizes, the most recently used first; including partial files of a killed process."""
    entries = []
    with os.scandir(folder) as every:
        for entry in every:
            try:
                known = entry.stat()
            except FileNotFoundError:
                continue
            entries.append((known.st_mtime_ns, Path(entry.path), known.st_size))
    return [(path, size) for _, path, size in sorted(entries, reverse=True)]


class SharedResults(Generic[T]):
    """Results that all processes of a server share: each process caches them, and finds results of other processes in files."""

    def __init__(self, files: DiskCache) -> None:
        self._files = files

    def find(self, key: str, read: Callable[[Mapping[str, NDArray[Any]]], T]) -> T | None:
        """The result under a key; `read` makes it from the arrays of a file. None where there is none."""
        found: T | None = current_cache().find(self, key)
        if found is not None or (entry := self._files.find(key)) is None:
            return found
        with entry[1] as file, np.load(BytesIO(file.read()), allow_pickle=False) as opened:
            arrays = {name: opened[name] for name in opened.files}
        return current_cache().get(self, key, lambda: read(arrays))

    def add(self, key: str, result: T, arrays: Mapping[str, Any]) -> T:
        """Cache a result, and write its arrays for the other processes."""
        content = BytesIO()
        np.savez(content, allow_pickle=False, **dict(arrays))
        content.seek(0)
        self._files.add(key, b"", content)
        return current_cache().get(self, key, lambda: result)
