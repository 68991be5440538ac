"""SIGHUP replaces the workers of a running server one after the other, so that no request is refused."""

import signal
import time

from gunicorn.arbiter import Arbiter
from gunicorn.errors import HaltServer

#: Seconds between two looks at a worker that starts.
PAUSE = 0.05


class RollingArbiter(Arbiter):  # type: ignore[misc]
    """Gunicorn's process that starts and watches workers.

    Gunicorn itself stops all old workers as soon as it has forked new ones: requests then wait until these have opened
    the store, and twice as many workers need memory. Here an old worker leaves when a new one answers.
    """

    _replaced: frozenset[int] = frozenset()

    def reload(self) -> None:
        """Replace every worker; where a new one cannot start, the old ones stay."""
        for pid in self._answering():
            if not self._start():
                self.log.error("A new worker could not start, so the running ones stay. Mend that, then reload again.")
                return
            self.kill_worker(pid, signal.SIGUSR2)
            self._replaced = self._replaced & self.WORKERS.keys() | {pid}

    def _answering(self) -> list[int]:
        """Process ids of the workers that no other replaces yet, the oldest first."""
        return sorted(self.WORKERS.keys() - self._replaced, key=lambda pid: self.WORKERS[pid].age)

    def _start(self) -> bool:
        """Start a worker, and wait until it answers; False where it does not."""
        pid = self.spawn_worker()
        end = time.monotonic() + self.cfg.timeout
        while time.monotonic() < end and self._is_there(pid):
            if self.WORKERS[pid].answers:
                return True
            time.sleep(PAUSE)
        if pid in self.WORKERS:
            self.kill_worker(pid, signal.SIGKILL)
        return False

    def _is_there(self, pid: int) -> bool:
        try:
            self.reap_workers()
        except HaltServer:  # it could not start; when a server starts, this ends the server
            return False
        return pid in self.WORKERS
