"""Counts and times of a server, in the format of Prometheus; those of all its workers together.

Workers write them into files of the folder that they share (prometheus-client's multiprocess mode). A worker writes the
files of its place, which its successor writes on: there are no more files and labels than there were workers at once.
"""

import logging
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import IO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector

from dashboard.monitoring import metric_files
from dashboard.web.admission import Meter
from dashboard.web.processes import locked

#: Upper limits of the classes of latencies in seconds.
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
OTHER = "other"
BUSY = 503
#: Where prometheus-client looks for the folder of its files.
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

log = logging.getLogger("headscape")


class Metrics(Meter):
    """The metrics of an application: of this process alone, or of all processes that share a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._own = CollectorRegistry()
        registry = self._own if folder is None else None
        counter = partial(Counter, registry=registry)
        seconds = partial(Histogram, registry=registry, buckets=SECONDS)
        gauge = partial(Gauge, registry=registry, multiprocess_mode="liveall")
        self._requests = counter(
            "headscape_requests", "Requests that were answered.", labelnames=["route", "method", "status"]
        )
        self._busy = counter("headscape_busy", "Requests that were told to come back later (503).")
        self._seconds = seconds("headscape_request_seconds", "Time until an answer was computed.", labelnames=["route"])
        self._waiting = Gauge(
            "headscape_queue_waiting",
            "Readers who wait for a turn, or have it.",
            labelnames=["queue"],
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._waits = seconds("headscape_queue_wait_seconds", "Time until a reader's turn.", labelnames=["queue"])
        self._refusals = counter(
            "headscape_refusals", "Readers who were told that a queue is full.", labelnames=["queue"]
        )
        self._hits = counter("headscape_cache_hits", "Results that were cached.")
        self._misses = counter("headscape_cache_misses", "Results that were computed.")
        self._cache = gauge("headscape_cache_bytes", "Bytes of the cached results of a worker.")
        self._resident = gauge("headscape_resident_bytes", "Resident memory of a worker.")
        self._connections = gauge("headscape_open_connections", "Open connections of a worker.")

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request. `route` is a name of the code's, never a path of a client's."""
        method = method if method in METHODS else OTHER
        self._requests.labels(route, method, f"{status // 100}xx").inc()
        self._seconds.labels(route).observe(seconds)
        if status == BUSY:
            self._busy.inc()

    def joined(self, queue: str) -> None:
        """Count a reader who waits for a turn."""
        self._waiting.labels(queue).inc()

    def began(self, queue: str, seconds: float) -> None:
        """Note how long a reader waited."""
        self._waits.labels(queue).observe(seconds)

    def left(self, queue: str) -> None:
        """Count a reader who waits no more, and whose turn has ended."""
        self._waiting.labels(queue).dec()

    def refused(self, queue: str) -> None:
        """Count a reader who found the queue full, or who waited too long."""
        self._refusals.labels(queue).inc()

    def looked_up(self, hits: int, misses: int) -> None:
        """Count results that the cache had, and that it lacked, since the last time."""
        self._hits.inc(hits)
        self._misses.inc(misses)

    def measured(self, *, cache: int, resident: int, connections: int) -> None:
        """Note the bytes of this worker's cache and memory, and its open connections."""
        self._cache.set(cache)
        self._resident.set(resident)
        self._connections.set(connections)

    def collect(self) -> Iterable[Metric]:
        """Every metric with its samples, as prometheus-client has them."""
        return self._own.collect() if self._folder is None else MultiProcessCollector(None, str(self._folder)).collect()

    def text(self, *more: Metric) -> bytes:
        """What Prometheus reads: these metrics, and more."""
        return generate_latest(_Collected([*self.collect(), *more]))


class _Collected(CollectorRegistry):
    """Metrics that were collected."""

    def __init__(self, metrics: list[Metric]) -> None:
        super().__init__()
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def share_metrics(folder: Path) -> tuple[Metrics, IO[str] | None]:
    """The metrics of this worker, which others can read in the folder, and its place: a file that stays open as long as it lives.

    Where the disk has no room for them, they are of this worker alone, without a place. Call it in the worker, once, with the
    folder in the variable of prometheus-client.
    """
    place: IO[str] | None = None
    try:
        number, place = _free_place(folder)
        metric_files.use_place(number)
        return Metrics(folder), place
    except OSError as error:
        if place is not None:
            place.close()
        log.warning(
            "The metrics of this worker are not shared: %s. Free space in the temporary folder.", error.strerror
        )
        metric_files.use_own()
        return Metrics(), None


def forget_dead(folder: Path) -> None:
    """Remove what only a living worker has, such as its memory, of places without a worker."""
    for path in folder.glob("worker-*"):
        with path.open("a") as place:
            if locked(place):
                metric_files.forget(folder, int(path.name.removeprefix("worker-")))


def _free_place(folder: Path) -> tuple[int, IO[str]]:
    number = 0
    while True:
        place = (folder / f"worker-{number}").open("a")
        if locked(place):
            return number, place
        place.close()
        number += 1
