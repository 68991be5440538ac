"""What a process keeps of the memory that it has freed: options of glibc's malloc, nothing with another C library."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

#: Options in malloc.h of glibc.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8


class Limits(NamedTuple):
    """Arguments of `use_one_heap`."""

    mapped: int
    kept: int


#: What `use_one_heap` has set in this process, which glibc does not tell; empty where it was never called.
_SET: list[Limits] = []


def use_one_heap(*, mapped: int, kept: int) -> None:
    """Let all threads share one heap. Call it before they start.

    By default there are eight heaps for each core, and each keeps what its threads once needed.

    Parameters
    ----------
    mapped
        Bytes from which an array is a mapping of its own, made of new pages, which goes back to the system when it is freed.
    kept
        Free bytes at the end of the heap that are kept.
    """
    _set(Limits(mapped, kept))
    _SET[:] = [Limits(mapped, kept)]


@contextmanager
def reused_memory(most: int) -> Iterator[None]:
    """Within the context arrays of less than `most` bytes take memory that was freed before; at its end it goes back.

    For work that frees large arrays again and again. Nothing where `use_one_heap` was never called: glibc learns it then.
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
