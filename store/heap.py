"""What a process keeps of the memory that it has freed: options of glibc's malloc, nothing with another C library."""

import ctypes

#: Options in malloc.h of glibc.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8


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
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for option, value in ((M_ARENA_MAX, 1), (M_MMAP_THRESHOLD, mapped), (M_TRIM_THRESHOLD, kept)):
        mallopt(option, value)
