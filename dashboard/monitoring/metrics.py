"""Counts and times of a server, of all its workers together, in the format of Prometheus.

Workers write them into files of the folder that they share (prometheus-client's multiprocess mode). A worker writes the
files of its place, and its successor continues them: there are only as many files and labels as workers at one time.

prometheus-client maps a file whose length it has set without room on the disk. Where a page then finds no room, SIGBUS ends the
worker, and each worker that takes its place. Here the room is taken before a file is mapped, for every worker when the server
starts, and is never given back. A series without room is counted in a place that nobody reads.
"""

import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from mmap import mmap
from pathlib import Path
from typing import IO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client.metrics_core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

from dashboard.web.admission import Meter
from dashboard.web.processes import locked

#: Upper limits of the classes of latencies in seconds.
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
OTHER = "other"
BUSY = 503
#: Environment variable that names the folder of prometheus-client's files.
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
log = logging.getLogger("headscape")
#: Bytes of a new file, as in prometheus-client, which doubles the size when a file is full.
FILE_BYTES = 1 << 16
#: The files of a worker's place, as prometheus-client names them.
KINDS = ("counter", "histogram", "gauge_liveall", "gauge_livesum")
#: Pattern of the kinds that only a living worker has.
OF_LIVING = "gauge_live*"
#: Bytes of a value with its time, and of a key's length and padding.
VALUE, AROUND = 16, 12


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
        """Count a request. `route` is a name from the code, never a path from a client."""
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
        """Count a reader as gone, who neither waits any more nor has a turn."""
        self._waiting.labels(queue).dec()

    def refused(self, queue: str) -> None:
        """Count a reader who found the queue full, or who waited too long."""
        self._refusals.labels(queue).inc()

    def looked_up(self, hits: int, misses: int) -> None:
        """Count results that the cache had, and that it lacked, since the last call."""
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
        """The text that Prometheus reads: these metrics, and more."""
        return generate_latest(_Collected([*self.collect(), *more]))


class _Collected(CollectorRegistry):
    """Metrics that were collected."""

    def __init__(self, metrics: list[Metric]) -> None:
        super().__init__()
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def share_metrics(folder: Path) -> tuple[Metrics, IO[str] | None]:
    """The metrics of this worker, which others read in the folder, and its place: a file that stays open while the worker lives.

    Where the disk has no room, the metrics are of this worker alone, without a place. Call it in the worker, once, with the
    folder in the variable of prometheus-client.
    """
    place: IO[str] | None = None
    try:
        number, place = _free_place(folder)
        use_place(number)
        return Metrics(folder), place
    except OSError as error:
        if place is not None:
            place.close()
        log.warning(
            "The metrics of this worker are not shared: %s. Free space in the temporary folder.", error.strerror
        )
        use_own()
        return Metrics(), None


def forget_dead(folder: Path) -> None:
    """Clear the metrics that only a living worker has, such as its memory, in places without a worker."""
    for path in folder.glob("worker-*"):
        with path.open("a") as place:
            if locked(place):
                forget(folder, int(path.name.removeprefix("worker-")))


def _free_place(folder: Path) -> tuple[int, IO[str]]:
    number = 0
    while True:
        place = (folder / f"worker-{number}").open("a")
        if locked(place):
            return number, place
        place.close()
        number += 1


class AllocatedFile(MmapedDict):
    """A file of values. Where the disk has no room for more series, the file keeps the series that it has."""

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        if not read_mode:
            take_room(Path(filename), FILE_BYTES)
        super().__init__(filename, read_mode)
        self._full = False

    def _init_value(self, key: str) -> None:
        """Add a series, with a value of zero."""
        beyond = self._used + len(key.encode()) + AROUND + 2 * VALUE
        if not self._full and beyond > self._capacity:
            self._full = not self._grow()
        if self._full:
            self._positions[key] = self._capacity - VALUE  # beyond the part that is read
        else:
            super()._init_value(key)

    def _grow(self) -> bool:
        try:
            take_room(Path(self._fname), 2 * self._capacity)
        except OSError:
            return False
        self._capacity *= 2
        self._m = mmap(self._f.fileno(), self._capacity)
        return True


def take_places(folder: Path, workers: int) -> None:
    """Take room on the disk for the files of `workers` workers, as far as there is room."""
    with suppress(OSError):
        for place in range(workers):
            for kind in KINDS:
                take_room(folder / f"{kind}_{place}.db", FILE_BYTES)
            (folder / f"worker-{place}").touch()


def take_room(file: Path, size: int) -> None:
    """Make a file at least `size` bytes long, with room on the disk for all of it. OSError without room; the file then stays."""
    with file.open("ab") as opened:
        before = opened.tell()
        if size <= before:
            return
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(opened.fileno(), 0, size)
            else:  # macOS
                opened.write(bytes(size - before))
        except OSError:
            if not before:  # prometheus-client cannot read an empty file
                file.unlink()
            raise


def forget(folder: Path, place: int) -> None:
    """Clear the metrics that only a living worker has; the files keep their room."""
    for file in folder.glob(f"{OF_LIVING}_{place}.db"):
        with file.open("r+b") as opened:
            opened.write(bytes(file.stat().st_size))


def use_place(number: int) -> None:
    """Keep metrics that are made from now on in the files of a place, in the folder that prometheus-client's variable names."""
    values.MmapedDict = AllocatedFile  # type: ignore[attr-defined]
    values.ValueClass = values.MultiProcessValue(lambda: number)


def use_own() -> None:
    """Keep metrics that are made from now on in this process alone."""
    values.ValueClass = values.MutexValue
