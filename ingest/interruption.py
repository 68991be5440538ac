"""What SIGINT, SIGTERM and SIGHUP do to a command: it stops working, and has ended within seconds whatever it was doing."""

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Thread
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Seconds that the main thread and its helpers have to stop by themselves.
GRACE = 3
STATUS = 130


class Interruption:
    """One interruption of the command `name`, however many signals ask for it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._signalled = False
        self._unsaid = Lock()

    def say(self) -> None:
        """Tell the person at the terminal, the first time."""
        if self._unsaid.acquire(blocking=False):
            sentence = "Interrupted; what was committed is kept. Run the same command again to go on."
            print(f"{self._name}: {sentence}", file=sys.stderr, flush=True)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """A signal raises KeyboardInterrupt here, and the process ends soon. Signals that were ignored stay ignored.

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
        """The thread is there for the signals that follow."""
        if not self._signalled:
            self._signalled = True
            raise KeyboardInterrupt

    def _end_late(self, signals: int) -> None:
        """End the process at a second signal or `GRACE` seconds after the first; return where the pipe is closed instead."""
        if os.read(signals, 1):
            select.select([signals], [], [], GRACE)
            self.say()
            os._exit(STATUS)
        os.close(signals)
