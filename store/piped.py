"""A command whose output goes into a pipe: how it ends where the program behind the pipe, such as `head`, reads no further."""

import os
import select
import sys
from collections.abc import Callable

#: Of a process that wrote where nobody reads, as a shell shows it: 128 and the number of SIGPIPE.
NOBODY_READS = 141


def until_nobody_reads(work: Callable[[], int]) -> int:
    """The exit status of `work`; it ends without a word where nobody reads what it prints.

    Raises
    ------
    BrokenPipeError
        Where it was another pipe, such as that of a process.
    """
    try:
        try:
            return work()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        if not _is_left(sys.stdout.fileno()):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more
        return NOBODY_READS


def _is_left(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
