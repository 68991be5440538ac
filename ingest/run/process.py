"""How a command ends: its exit status, signals, and the end of the process that it works for.

Imports nothing slow: an interruption is heard from the first moment, and a process that fits pictures ends with its pool.
"""

import atexit
import ctypes
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from multiprocessing import active_children, parent_process
from threading import Lock, Thread
from time import sleep
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Seconds that the main thread and its helpers have to stop by themselves.
GRACE = 3
#: The exit status of an interrupted command.
STATUS = 130
INTERRUPTED = "Interrupted; what was committed is kept. Run the same command again to go on."
#: Note on a mistake in the program, whose traceback is in the log.
UNEXPECTED = "The ingest failed; its log has the error. Run the same command again, or report the error."
#: Variable with the process whose death interrupts a command: `make` and the dashboard set it for the ingest they start.
PARENT = "HEADSCAPE_PARENT"
#: Seconds between two looks at the parent of this process.
PAUSE = 0.5
#: Niceness of a process of a pool: fits run beside stages that readers wait for first.
COURTESY = 10
#: Option of Linux' `prctl`: the signal that a process gets when the thread that started it ends.
PR_SET_PDEATHSIG = 1


def exit_status(work: Callable[[], None], *, name: str, interrupted: str = INTERRUPTED) -> int:
    """Run a command; 0 done, 1 failed with one sentence on what to do next, 141 pipe closed. Ends the process with 130 where interrupted."""
    interruption = Interruption(name, interrupted)
    try:
        with interruption.raised_by_signals():
            return _done(work)
    except KeyboardInterrupt:
        interruption.end()
    except Exception as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        print(f"{name}: {sentence}", file=sys.stderr)
        return 1


@contextmanager
def outcome_noted(store: str) -> Iterator[None]:
    """Note beside the store how the work within the context ended: a server shows it."""
    from store.repository.ingest_status import note_outcome

    failure = UNEXPECTED
    try:
        yield
        failure = ""
    except KeyboardInterrupt:
        failure = INTERRUPTED
        raise
    except Exception as error:
        failure = _sentence(error) or UNEXPECTED
        raise
    finally:
        with suppress(OSError):  # the disk may be full
            note_outcome(store, failure)


def _done(work: Callable[[], None]) -> int:
    from store.process import until_pipe_closes

    def run() -> int:
        work()
        return 0

    return until_pipe_closes(run)


def _sentence(error: Exception) -> str | None:
    """The message for wrong settings, or a lack of the machine or the network; None for a mistake in the program."""
    from icechunk import IcechunkError  # slow, as what imports it is; an interruption comes before or after

    from ingest.run.errors import IngestError
    from store.repository.access import interruption
    from store.repository.errors import StoreError
    from store.repository.zarr_internals import is_damage

    if isinstance(error, IngestError | StoreError):
        return str(error)
    if _disk_full(error):
        return "The disk is full; what was committed is kept. Free some space and run the same command again."
    if isinstance(error, IcechunkError):
        return interruption(error)
    if is_damage(error):
        return (
            "A part of the store is damaged. Run `headscape verify` to list the damage, then ingest into another place."
        )
    if _accelerator_full(error):
        problem = "The memory of the device is full; what was committed is kept."
        return f"{problem} Give a smaller --batch or --max-length, or --device=cpu."
    return None


def _disk_full(error: Exception) -> bool:
    from store.repository.files import is_full

    full = isinstance(error, OSError) and is_full(error)
    return full or "No space left" in str(error) or "StorageFull" in repr(error)  # icechunk says so in its text alone


def _accelerator_full(error: Exception) -> bool:
    if "torch" not in sys.modules:  # it is imported if this is the reason, and may not be installed
        return False
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "MPS backend out of memory" in str(error)


class Interruption:
    """The interruption of the command `name`, by one signal or several; `sentence` says what it leaves, and what to do next."""

    def __init__(self, name: str, sentence: str = INTERRUPTED) -> None:
        self._name, self._sentence = name, sentence
        self._signalled = False
        self._unsaid = Lock()

    def say(self) -> None:
        """Print once that the command was interrupted."""
        if self._unsaid.acquire(blocking=False):
            print(f"{self._name}: {self._sentence}", file=sys.stderr, flush=True)

    def end(self) -> NoReturn:
        """End the process at once. An interpreter takes seconds to end, in which no thread is left that could end it."""
        threading.excepthook = lambda _: None  # threads of a pool may complain of its processes, which were killed
        self.say()
        with suppress(OSError):  # whoever read it may have ended
            sys.stdout.flush()
        atexit._run_exitfuncs()
        os._exit(STATUS)

    @contextmanager
    def raised_by_signals(self) -> Iterator[None]:
        """Raise KeyboardInterrupt at a signal, and end the process soon after. Ignored signals stay ignored.

        A thread hears of signals too, by a pipe that the system's own handler writes to: the main thread may be in
        the middle of a long computation, or wait for those of others.
        """
        heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._interrupt) for number in heard}
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        wakeup_before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        Thread(target=self._end_late, args=(reader,), name="signals", daemon=True).start()
        try:
            yield
        finally:
            if not self._signalled:
                signal.set_wakeup_fd(wakeup_before)
                os.close(writer)
                for number, handler in before.items():
                    signal.signal(number, handler)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt at the first signal; the thread handles the signals that follow."""
        if not self._signalled:
            self._signalled = True
            raise KeyboardInterrupt

    def _end_late(self, signals: int) -> None:
        """End the process at a second signal or `GRACE` seconds after the first; return where the pipe is closed instead."""
        if os.read(signals, 1):
            select.select([signals], [], [], GRACE)
            self.say()
            for process in active_children():  # they would end later, by themselves
                process.kill()
            os._exit(STATUS)
        os.close(signals)


def keep_freed_memory() -> None:
    """Let a process that computes blocks take memory that it has freed before.

    New pages for every array took a third of the time of placing tokens; with one heap there is half as much memory in use.
    """
    from store.process import use_one_heap

    use_one_heap(mapped=32 << 20, kept=1 << 30)


def begin_in_pool() -> None:
    """Let a process of a pool use what other work leaves of the cores, and end when the process that started it has ended.

    The process ignores Ctrl-C, which its parent handles. The threads that start processes live as long as the pool. On Linux the
    system ends this process, also where compiled code lets none of its threads run for seconds.
    """
    if sys.platform != "win32":
        os.nice(COURTESY)
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
