"""The process of a command: the extra that it needs, its threads of linear algebra, its exit, and freed memory.

A command ends quietly when the program that reads its output, such as `head`, closes the pipe, even while threads
work. Memory follows options of glibc's malloc; with another C library they have no effect.
"""

import atexit
import ctypes
import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from threading import Lock
from typing import Literal, NamedTuple, NoReturn

from packaging.requirements import Requirement
from threadpoolctl import ThreadpoolController

from store.repository.errors import StoreError

#: Exit status that a shell shows for a process with a closed output pipe: 128 + SIGPIPE.
PIPE_CLOSED = 141
#: Numbers of options in malloc.h of glibc.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8


class ExtraMissing(StoreError):
    """A command needs packages of an extra that is not installed."""


def check_extra(extra: str) -> None:
    """Raise ExtraMissing where a package of the extra is not installed."""
    missing = missing_packages(extra)
    if missing:
        raise ExtraMissing(
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed. "
            f"Install the extra: pip install 'headscape[{extra}]', or '.[{extra}]' in a clone."
        )


def check_installed(package: str = "headscape") -> None:
    """Raise ExtraMissing where Headscape itself is not installed: results of a command name its version."""
    if _installed(package) is None:
        raise ExtraMissing(
            "Headscape is not installed, so a result could not name its version. Run `pip install '.[ingest]'` in the clone."
        )


def missing_packages(extra: str) -> list[str]:
    """Names of the packages of an extra that are not installed; none where Headscape itself is not."""
    try:
        requirements = [Requirement(text) for text in distribution("headscape").requires or []]
    except PackageNotFoundError:
        return []
    return [
        requirement.name
        for requirement in requirements
        if _is_of(requirement, extra) and _installed(requirement.name) is None
    ]


def _is_of(requirement: Requirement, extra: str) -> bool:
    marker = requirement.marker
    return marker is not None and marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""})


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


@contextmanager
def one_thread(api: Literal["blas"] | None = None) -> Iterator[None]:
    """Limit the libraries of an interface (`blas`), or all, to one thread each within the context.

    To find the libraries takes longer than a small product, as all memory mappings are read. They are searched again only
    after further modules were imported. OpenMP has a limit for each thread of the process, BLAS one for all: the last of
    several overlapping contexts restores it.
    """
    libraries = _libraries(len(sys.modules))
    with _BLAS.one_thread(libraries), nullcontext() if api else libraries.limit(limits=1, user_api="openmp"):
        yield


class _Blas:
    """The limit of BLAS, and the number of contexts that need it."""

    def __init__(self) -> None:
        self._lock, self._contexts = Lock(), 0
        self._limited: dict[ThreadpoolController, AbstractContextManager[object]] = {}

    @contextmanager
    def one_thread(self, libraries: ThreadpoolController) -> Iterator[None]:
        """Limit BLAS to one thread until the last context ends."""
        with self._lock:
            self._contexts += 1
            if libraries not in self._limited:
                self._limited[libraries] = libraries.limit(limits=1, user_api="blas")
        try:
            yield
        finally:
            with self._lock:
                self._contexts -= 1
                while self._limited and not self._contexts:
                    self._limited.popitem()[1].__exit__(None, None, None)


_BLAS = _Blas()


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    assert modules
    return ThreadpoolController()


def until_pipe_closes(work: Callable[[], int]) -> int:
    """Exit status of `work`, or PIPE_CLOSED without a message where the output pipe was closed.

    Raises
    ------
    BrokenPipeError
        Where another pipe broke, such as a pipe to a process.
    """
    try:
        try:
            return work()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        if not _is_closed(sys.stdout.fileno()):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more
        return PIPE_CLOSED


def end(status: int) -> NoReturn:
    """End the process like `sys.exit`, but without finalising the interpreter.

    A thread of icechunk acquires the interpreter once more after a read. Before Python 3.14, a thread that does so during
    finalisation aborts the process without a message.
    """
    atexit.register(end_now, status)  # runs before all other exit functions
    sys.exit(status)


def end_now(status: int) -> NoReturn:
    """Run the registered exit functions and end the process, regardless of its threads and callers.

    Finalising the interpreter of a server takes a second of processor time: ten seconds on a busy machine.
    """
    atexit.unregister(end_now)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _is_closed(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


class Limits(NamedTuple):
    """Arguments of `use_one_heap`."""

    mapped: int
    kept: int


#: Limits that `use_one_heap` has set in this process, as glibc cannot be asked; empty if it was never called.
_SET: list[Limits] = []


def use_one_heap(*, mapped: int, kept: int) -> None:
    """Let all threads share one heap. Call it before threads start.

    By default there are eight heaps for each core, and each keeps memory that its threads once needed.

    Parameters
    ----------
    mapped
        Least bytes of an array with a memory mapping of its own, of new pages, which goes back to the system when freed.
    kept
        Free bytes at the end of the heap that the process keeps.
    """
    _set(Limits(mapped, kept))
    _SET[:] = [Limits(mapped, kept)]


@contextmanager
def reusing_freed_memory(most: int) -> Iterator[None]:
    """Let arrays of less than `most` bytes reuse freed memory within the context; at its end the memory goes back.

    For work that frees large arrays again and again. No effect where `use_one_heap` was never called: glibc then adapts its limit itself.
    """
    if not _SET:
        yield
        return
    (usual,) = _SET
    _set(Limits(mapped=most, kept=most))
    try:
        yield
    finally:
        _set(usual)
        _call("malloc_trim", 0)


def _set(limits: Limits) -> None:
    for option, value in (
        (M_ARENA_MAX, 1),
        (M_MMAP_THRESHOLD, limits.mapped),
        (M_TRIM_THRESHOLD, limits.kept),
    ):
        _call("mallopt", option, value)


def _call(name: str, *arguments: int) -> None:
    """Call a function of glibc, where there is one."""
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return
    function(*arguments)
