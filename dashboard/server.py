"""The production server: processes of gunicorn, each with an event loop and threads of waitress.

SIGHUP replaces them one after the other, so that no request is refused.
"""

import atexit
import signal
import time
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.errors import HaltServer

from dashboard.app import create_app
from dashboard.monitoring import logs
from dashboard.monitoring.metrics import VARIABLE, forget_dead, share_metrics, take_places
from dashboard.monitoring.monitor import Monitor
from dashboard.notes.database import Database
from dashboard.sentence.encoder import RemoteEncoder, TypedSentences
from dashboard.serving import Serving
from dashboard.web.connections import BufferingWorker
from dashboard.web.processes import ServerFolder, one_thread_per_product, return_freed_memory
from dashboard.web.served_store import ServedStore

#: Seconds between two looks at a worker that starts.
LOOK_SECONDS = 0.05
#: Threads of a worker: more than readers may wait in its queues, so that others are still answered.
THREADS = 20
#: Rights that a unix socket does not give: its user and its group may connect, others may not.
SOCKET_UMASK = 0o117
#: Seconds that a stopped worker has to finish its answers.
GRACE = 10


class RollingArbiter(Arbiter):  # type: ignore[misc]
    """Gunicorn's process that starts and watches workers.

    Gunicorn itself stops all old workers as soon as it has forked new ones: requests then wait until new workers have opened
    the store, and twice as many workers need memory. Here an old worker stops when a new one answers.
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
        """Process ids of the workers that are not being replaced, the oldest first."""
        return sorted(self.WORKERS.keys() - self._replaced, key=lambda pid: self.WORKERS[pid].age)

    def _start(self) -> bool:
        """Start a worker and wait until it answers; False where it does not answer in time."""
        pid = self.spawn_worker()
        end = time.monotonic() + self.cfg.timeout
        while time.monotonic() < end and self._is_there(pid):
            if self.WORKERS[pid].answers:
                return True
            time.sleep(LOOK_SECONDS)
        if pid in self.WORKERS:
            self.kill_worker(pid, signal.SIGKILL)
        return False

    def _is_there(self, pid: int) -> bool:
        try:
            self.reap_workers()
        except HaltServer:  # it could not start; when a server starts, this ends the server
            return False
        return pid in self.WORKERS


class Server(BaseApplication):  # type: ignore[misc]
    """Gunicorn on one store, opened after the fork: the threads of icechunk do not survive a fork."""

    def __init__(self, store: str, address: str, folder: ServerFolder, serving: Serving) -> None:
        self.store = store
        self.folder = folder
        self.serving = serving
        self.address = address
        super().__init__()

    def load_config(self) -> None:
        """Set the settings of gunicorn."""
        settings = {
            "bind": self.address,
            "workers": self.serving.workers,
            "threads": THREADS,
            "worker_class": BufferingWorker,
            "control_socket_disable": True,
            "loglevel": "warning",
            "umask": SOCKET_UMASK,
            "timeout": 60,
            "graceful_timeout": GRACE,
            "raw_env": [f"{VARIABLE}={self.folder.metrics}"],
            "post_worker_init": self._begin,
            "child_exit": self._clean,
        }
        for name, value in settings.items():
            self.cfg.set(name, value)

    def run(self) -> None:
        """Serve until stopped."""
        take_places(self.folder.metrics, self.serving.workers + 1)  # one more place while a worker is replaced
        RollingArbiter(self).run()

    def load(self) -> Any:
        """The WSGI application of a worker."""
        logs.configure()
        return_freed_memory()
        one_thread_per_product()
        encoder = RemoteEncoder(self.folder)
        served_store = ServedStore(self.store, self.folder.path)
        served_store.put(TypedSentences, TypedSentences(encoder))
        metrics, self._place = share_metrics(self.folder.metrics)
        self._monitor = Monitor(served_store, metrics)
        served_store.put(Monitor, self._monitor)
        app = create_app(served_store, self.serving)
        notes = served_store.service(Database)
        notes.prepare()
        atexit.register(notes.close)
        return app.server

    def _begin(self, worker: BufferingWorker) -> None:
        """Start the monitor of a worker before it answers; gunicorn calls this."""
        self._monitor.start(lambda: worker.connections)

    def _clean(self, _arbiter: object, _worker: BufferingWorker) -> None:
        """Remove metrics of ended workers; gunicorn calls this in the process that watches the workers, after one has ended."""
        forget_dead(self.folder.metrics)
