"""What measures one application, and its thread that measures the worker now and then."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from threading import Thread

from dashboard.monitoring.history import EVERY, History, sample
from dashboard.monitoring.metrics import Metrics
from dashboard.monitoring.store_metrics import snapshot_age, store_metrics
from dashboard.web.library import Library
from dashboard.web.processes import locked, resident_memory

#: Seconds between two measurements of a worker.
PAUSE = 1.0


class Monitor:
    """The metrics of an application, and its last hour."""

    def __init__(self, library: Library, metrics: Metrics | None = None) -> None:
        self.metrics = metrics or Metrics()
        self.history = History(library.folder)
        self._library = library
        self._hits = self._misses = 0

    @classmethod
    def of(cls, library: Library) -> "Monitor":
        """That of a library without a server: of this process alone."""
        return cls(library)

    def text(self) -> bytes:
        """All metrics as Prometheus reads them."""
        return self.metrics.text(*store_metrics(self._library))

    def start(self, connections: Callable[[], int]) -> None:
        """Measure this worker from now on. One of the workers adds to the history, and another one when it has ended."""
        Thread(target=self._measure, args=(connections,), name="monitor", daemon=True).start()

    def measure(self, connections: int) -> None:
        """Note the numbers of this worker."""
        cache = self._library.cache
        hits, misses = cache.hits, cache.misses
        self.metrics.looked_up(hits - self._hits, misses - self._misses)
        self._hits, self._misses = hits, misses
        self.metrics.measured(cache=cache.size, resident=resident_memory() or 0, connections=connections)

    def add_sample(self) -> None:
        """Add the numbers of all workers to the history."""
        running = self._library.ingest
        stage = "" if running is None else running.stage or "starting"
        self.history.add(sample(self.metrics.collect(), age=snapshot_age(self._library), stage=stage))

    def _measure(self, connections: Callable[[], int]) -> None:
        with ExitStack() as stack:
            writer = stack.enter_context((self._library.folder / "history-writer").open("w"))
            next_sample = 0.0
            while True:
                self.measure(connections())
                if time.monotonic() >= next_sample and locked(writer):
                    self.add_sample()
                    next_sample = time.monotonic() + EVERY
                time.sleep(PAUSE)
