"""A worker of gunicorn that runs waitress: an event loop reads requests and sends answers, threads compute them."""

import logging
import os
import time

from gunicorn.workers.base import Worker
from waitress.task import ThreadedTaskDispatcher

from dashboard.web.connections import Front
from dashboard.web.event_loop import EventLoop

#: Seconds between two signs of life for gunicorn, which replaces a worker that gives none.
PULSE = 1.0


class BufferingWorker(Worker):  # type: ignore[misc]
    """gunicorn starts, watches, replaces and stops it; waitress answers in it."""

    def run(self) -> None:
        """Answer until told to stop, then finish what is being answered."""
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # that a request waits for a thread is no news
        self.threads = ThreadedTaskDispatcher()
        self.threads.set_thread_count(self.cfg.threads)
        self.loop = EventLoop()
        self.fronts = [Front(self.wsgi, listening.sock, self.threads, self.loop) for listening in self.sockets]
        for number in self.loop.sockets:
            self.loop.change(number)
        while self.alive and os.getppid() == self.ppid:
            self._turn()
        self._finish()

    def _turn(self) -> None:
        self.notify()
        self.loop.turn(PULSE)

    def _finish(self) -> None:
        for front in self.fronts:
            front.stop_accepting()
        end = time.monotonic() + self.cfg.graceful_timeout
        while time.monotonic() < end and any(front.answers for front in self.fronts):
            self._turn()
        for front in self.fronts:
            front.close()
        self.loop.close()
