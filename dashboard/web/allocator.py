"""Keeps freed memory from staying with the process: glibc's malloc, by itself, holds on to four times what is in use."""

import ctypes

#: Of glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
#: Bytes from which an array is a mapping of its own, which goes back to the system when it is freed. Unless this is set,
#: glibc raises it to 32 MB when the first large array is freed; from then on arrays lie in heaps, with holes between.
LARGE = 128 * 1024
#: Heaps that threads share. By default there are eight for each core, and each keeps what its threads once needed; a
#: second one took 20 MB and no time off a thousand mixed requests by eight readers.
HEAPS = 1


def return_freed_memory() -> None:
    """Call it in a process before its threads start. Nothing happens where malloc is not glibc's."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for option, value in ((M_ARENA_MAX, HEAPS), (M_MMAP_THRESHOLD, LARGE), (M_TRIM_THRESHOLD, LARGE)):
        mallopt(option, value)
