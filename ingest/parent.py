"""The death of a parent process, killed or not, ends the processes that work for it."""

import ctypes
import os
import signal
import sys
from collections.abc import MutableMapping
from multiprocessing import parent_process
from threading import Thread
from time import sleep

#: Names the process whose death interrupts a command: `make` and the dashboard set it for the ingest they start.
PARENT = "HEADSCAPE_PARENT"
#: Seconds between two looks at the parent of this process.
PAUSE = 0.5
#: Of Linux' `prctl`: the signal that a process gets when the thread that started it ends.
PR_SET_PDEATHSIG = 1


def end_with_pool() -> None:
    """In a process of a pool: end at once when the process that started it has ended. Ctrl-C is left to that process.

    The threads that start processes live as long as the pool. On Linux the system ends this process, also where
    compiled code lets none of its threads run for seconds.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    Thread(target=_end_with_pool, name="parent", daemon=True).start()


def _end_with_pool() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()  # its end closes a pipe, on every system and by whatever signal
    os._exit(1)


def follow_parent(environment: MutableMapping[str, str]) -> None:
    """Interrupt this process, as SIGTERM does, once the parent that the environment names has ended."""
    parent = environment.pop(PARENT, "")
    if parent:
        Thread(target=_interrupt_after, args=(int(parent),), name="parent", daemon=True).start()


def _interrupt_after(parent: int) -> None:
    while os.getppid() == parent:
        sleep(PAUSE)
    os.kill(os.getpid(), signal.SIGTERM)
