"""Cached results: in the memory of a process and in files that all processes of a server share, each within a budget of bytes.

The least recently used are removed first. Nothing depends on a cached result: what is not there is computed again.
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

#: Bytes that the cached results of an application may hold; a worker is to stay below 450 MB with everything else. A budget
#: three times as large took 66 MB more and saved no time in a thousand mixed requests by eight readers.
BUDGET = 32 << 20
#: Share of the budget that one result may take: a larger one would push nearly all others out.
MOST_OF_BUDGET = 1 / 2
K = TypeVar("K")
P = ParamSpec("P")
T = TypeVar("T")
#: Types of values without parts.
_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})
Key = tuple[weakref.ref[Any], Hashable]
#: Checksum of the key, the description and the content; length of the description.
ENTRY_HEAD = Struct("<II")
#: Share of the budget that one entry may take, that a process adds between two looks at the folder, and that is deleted then.
ENTRY_SHARE, STEP_SHARE = 1 / 4, 1 / 32
#: Share of the free disk that all entries may take: the rest is for whatever else is written there.
OF_DISK = 1 / 2
PIECE_BYTES = 1 << 20


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

    The cache does not keep an owner alive, and removes its results after it. A result larger than `MOST_OF_BUDGET` of the budget is
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
            if owner is not None and size <= MOST_OF_BUDGET * self.budget:
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


def free_bytes(folder: Path) -> int:
    """Bytes that the disk of a folder has left."""
    return shutil.disk_usage(folder).free


class DiskCache:
    """Entries under a text: a short description and a content, checked when they are read.

    Nothing depends on it: where the disk is full, or a file is damaged or gone, an entry is not there. `workers` processes
    that share a folder stay within `budget` bytes together, and within half of what the disk has for them.
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
        """The description, and the open file at the beginning of the content; None where there is no whole entry."""
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
        """Add an entry, unless it is too large. The content is read from where it stands, and left there."""
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
        """Whether there is room for so many bytes, once the least recently used entries are deleted.

        It looks at the folder after this process has added enough since it last looked; on a nearly full disk, each time.
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
    """Write an entry piece by piece, so that a large one is never whole in memory."""
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
    """The description, with the file at the beginning of the content; None where it is not the whole entry of the key."""
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
    """Files with their sizes, the most recently used first; among them parts of a process that was killed."""
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
    """Results that all processes of a server share: each has them in its cache, and finds in files what another has computed."""

    def __init__(self, files: DiskCache) -> None:
        self._files = files

    def find(self, key: str, read: Callable[[Mapping[str, NDArray[Any]]], T]) -> T | None:
        """The result under a key; `read` makes it of the arrays of a file. None where there is none."""
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
