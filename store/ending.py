"""How a command ends: quietly when the program that reads its output, such as `head`, closes the pipe, and whatever threads still do."""

import atexit
import os
import select
import sys
from collections.abc import Callable
from typing import NoReturn

#: Exit status that a shell shows for a process with a closed output pipe: 128 + SIGPIPE.
PIPE_CLOSED = 141


def until_pipe_closes(work: Callable[[], int]) -> int:
    """Exit status of `work`, or PIPE_CLOSED without a message where the output pipe was closed.

    Raises
    ------
    BrokenPipeError
        Where another pipe broke, such as one to a process.
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
    """End the process as `sys.exit` does, but do not take the interpreter down.

    A thread of icechunk asks for the interpreter once more after a read has been answered. Before Python 3.14, one that
    asks while the interpreter is taken down aborts the process without a word.
    """
    atexit.register(end_now, status)  # runs before all others
    sys.exit(status)


def end_now(status: int) -> NoReturn:
    """End the process with what it has registered for its exit, whatever its threads and callers still do.

    To take the interpreter of a server down takes a second of processor time: ten on a busy machine.
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
