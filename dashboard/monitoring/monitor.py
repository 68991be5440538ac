"""Measurements of one application: every request, its worker every second, the store, its last hour; and the routes that report them.

The last hour is samples of the metrics at intervals, in one small file that all workers read. Every request gets an id; its
answer is measured and noted in the metrics and in the access log.
"""

import json
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from secrets import token_hex
from threading import Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, request
from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from werkzeug.wsgi import ClosingIterator

from dashboard.access.person import LOCAL, current_person
from dashboard.monitoring.logs import REQUEST_ID, AccessLog, Entry
from dashboard.monitoring.metrics import Metrics
from dashboard.web.addresses import CLIENT, AddressList, peer_of
from dashboard.web.admission import metered_by
from dashboard.web.connections import STOPS
from dashboard.web.errors import Refusal
from dashboard.web.processes import ServerFolder, locked, resident_memory, write_whole
from dashboard.web.results import cached
from dashboard.web.served_store import ServedStore
from store import Snapshot, StoreError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment
#: Keys of the WSGI environment: the name of the route, and of the person who sends the request.
ROUTE, USER = "headscape.route", "headscape.user"
#: Name of the route of requests that no route answers.
NO_ROUTE = "none"
HEADER = "X-Request-ID"
NO_PROXIES = AddressList()
#: Form of a request's id that a proxy may give.
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
log = logging.getLogger("headscape")
#: Seconds between two measurements of a worker.
MEASURE_SECONDS = 1.0
#: Seconds between two samples, and samples that are kept: an hour.
SAMPLE_SECONDS, MOST_SAMPLES = 15, 240
READY, METRICS = "/_readyz", "/metrics"
STOPPING = "This server is stopping. Try another one, or wait until it has started again."
NOT_ADMITTED = "Only authors and the addresses that --metrics-from names may read the metrics. Sign in as an author, or name the address."


class WatchedApplication:
    """An application whose requests are watched; `proxies` are the peers whose ids of requests are kept."""

    def __init__(
        self, application: "WSGIApplication", metrics: Metrics, log: AccessLog | None, proxies: AddressList = NO_PROXIES
    ) -> None:
        self._application, self._metrics, self._log, self._proxies = application, metrics, log, proxies

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Answer a request."""
        environ[REQUEST_ID] = self._id(environ)
        answer = WatchedAnswer(environ[REQUEST_ID], start_response)
        try:
            with metered_by(self._metrics):
                chunks = self._application(environ, answer.start)
        except BaseException:
            self._note(environ, answer)
            raise
        if answer.length is not None:
            self._note(environ, answer)
            return chunks
        return ClosingIterator(answer.counted(chunks), [lambda: self._note(environ, answer), *_closing(chunks)])

    def _id(self, environ: "WSGIEnvironment") -> str:
        given = environ.get("HTTP_X_REQUEST_ID", "")
        return given if peer_of(environ) in self._proxies and _ID.fullmatch(given) else token_hex(8)

    def _note(self, environ: "WSGIEnvironment", answer: "WatchedAnswer") -> None:
        seconds, route = perf_counter() - answer.began, environ.get(ROUTE, NO_ROUTE)
        method = environ["REQUEST_METHOD"]
        self._metrics.answered(route, method, answer.status, seconds)
        if self._log is not None:
            entry = Entry(
                id=environ[REQUEST_ID],
                user=environ.get(USER, ""),
                peer=environ.get(CLIENT, ""),
                method=method,
                route=route,
                path=environ.get("PATH_INFO", ""),
                status=answer.status,
                milliseconds=round(1000 * seconds, 1),
                bytes=answer.sent if answer.length is None else answer.length,
            )
            self._log.write(entry)


class WatchedAnswer:
    """Status of an answer, and length of its body, which is counted where no header says it."""

    def __init__(self, request_id: str, start_response: "StartResponse") -> None:
        self.began = perf_counter()
        self.status = 500
        self.length: int | None = None
        self.sent = 0
        self._id, self._start = request_id, start_response

    def start(self, status: str, headers: list[tuple[str, str]], *error: Any) -> Callable[[bytes], object]:
        """Begin the answer; its headers get the id of the request."""
        self.status = int(status[:3])
        lengths = [value for name, value in headers if name.lower() == "content-length"]
        self.length = int(lengths[0]) if lengths else None
        return self._start(status, [*headers, (HEADER, self._id)], *error)

    def counted(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The chunks of the answer, unchanged; their bytes are counted."""
        for chunk in chunks:
            self.sent += len(chunk)
            yield chunk


def _closing(chunks: Iterable[bytes]) -> list[Callable[[], None]]:
    close = getattr(chunks, "close", None)
    return [close] if close else []


def name_requests(server: Flask) -> None:
    """Note the route and the sender of every request, for `WatchedApplication`."""

    def note(response: Response) -> Response:
        request.environ[ROUTE] = request.endpoint or NO_ROUTE
        request.environ[USER] = current_person().name
        return response

    server.after_request(note)


def watch_requests(server: Flask, metrics: Metrics, log_file: str, proxies: AddressList = NO_PROXIES) -> None:
    """Watch the requests of a server from now on."""
    log = AccessLog(log_file) if log_file else None
    server.wsgi_app = WatchedApplication(server.wsgi_app, metrics, log, proxies)  # type: ignore[method-assign]


class Monitor:
    """The metrics of an application, and its last hour."""

    def __init__(self, served_store: ServedStore, metrics: Metrics | None = None) -> None:
        self.metrics = metrics or Metrics()
        self.history = History(served_store.folder)
        self._served_store = served_store
        self._hits = self._misses = 0

    @classmethod
    def of(cls, served_store: ServedStore) -> "Monitor":
        """The monitor of a served store without a server: it measures this process alone."""
        return cls(served_store)

    def text(self) -> bytes:
        """All metrics as Prometheus reads them."""
        return self.metrics.text(*store_metrics(self._served_store))

    def start(self, connections: Callable[[], int]) -> None:
        """Measure this worker from now on. One of the workers adds to the history; when it has ended, another one does."""
        Thread(target=self._measure, args=(connections,), name="monitor", daemon=True).start()

    def measure(self, connections: int) -> None:
        """Note the numbers of this worker."""
        cache = self._served_store.cache
        hits, misses = cache.hits, cache.misses
        self.metrics.looked_up(hits - self._hits, misses - self._misses)
        self._hits, self._misses = hits, misses
        self.metrics.measured(cache=cache.size, resident=resident_memory() or 0, connections=connections)

    def add_sample(self) -> None:
        """Add the numbers of all workers to the history."""
        running = self._served_store.ingest
        stage = "" if running is None else running.stage or "starting"
        self.history.add(sample(self.metrics.collect(), age=snapshot_age(self._served_store), stage=stage))

    def _measure(self, connections: Callable[[], int]) -> None:
        with ExitStack() as stack:
            writer = stack.enter_context((self._served_store.folder / "history-writer").open("w"))
            next_sample = 0.0
            while True:
                with _going_on():
                    self.measure(connections())
                    if time.monotonic() >= next_sample and locked(writer):
                        next_sample = time.monotonic() + SAMPLE_SECONDS
                        self.add_sample()
                time.sleep(MEASURE_SECONDS)


@contextmanager
def _going_on() -> Iterator[None]:
    """Log a failure, so that the next measurement is made all the same."""
    try:
        yield
    except Exception:
        log.exception("could not measure this worker")


@dataclass(frozen=True)
class Sample:
    """The metrics of a server at one moment; counts are since its start.

    Attributes
    ----------
    classes
        Requests by the upper limit of their class of latency; each number includes the classes below.
    busy, failed
        Answers with status 503, and with another 5xx.
    resident
        Bytes of memory of each worker by its place.
    """

    time: float
    requests: float = 0
    busy: float = 0
    failed: float = 0
    cache: float = 0
    waiting: float = 0
    connections: float = 0
    age: float | None = None
    stage: str = ""
    classes: dict[str, float] = field(default_factory=dict)
    resident: dict[str, float] = field(default_factory=dict)


def sample(metrics: Iterable[Metric], *, age: float | None, stage: str, now: float | None = None) -> Sample:
    """A sample from collected metrics."""
    totals: dict[str, float] = {}
    classes: dict[str, float] = {}
    resident: dict[str, float] = {}
    for each in (each for metric in metrics for each in metric.samples):
        totals[each.name] = totals.get(each.name, 0) + each.value
        if each.name == "headscape_request_seconds_bucket":
            classes[each.labels["le"]] = classes.get(each.labels["le"], 0) + each.value
        elif each.name == "headscape_resident_bytes" and each.value:  # a worker that starts has not measured itself yet
            resident[each.labels.get("pid", "0")] = each.value
        elif each.name == "headscape_requests_total" and each.labels["status"] == "5xx":
            totals["5xx"] = totals.get("5xx", 0) + each.value
    busy = totals.get("headscape_busy_total", 0)
    return Sample(
        time=time.time() if now is None else now,
        requests=totals.get("headscape_requests_total", 0),
        busy=busy,
        failed=totals.get("5xx", 0) - busy,
        cache=totals.get("headscape_cache_bytes", 0),
        waiting=totals.get("headscape_queue_waiting", 0),
        connections=totals.get("headscape_open_connections", 0),
        age=age,
        stage=stage,
        classes=classes,
        resident=resident,
    )


class History:
    """The last `most` samples, in a file that one process writes."""

    def __init__(self, folder: Path, most: int = MOST_SAMPLES) -> None:
        self._file, self._most = folder / "history.json", most

    @property
    def samples(self) -> list[Sample]:
        """The samples, the oldest first."""
        try:
            return [Sample(**each) for each in json.loads(self._file.read_bytes())]
        except FileNotFoundError:
            return []

    def add(self, sample: Sample) -> None:
        """Add a sample; the oldest beyond an hour is dropped."""
        kept = [*self.samples, sample][-self._most :]
        write_whole(self._file, json.dumps([asdict(each) for each in kept]).encode())


def quantile(share: float, classes: Sequence[tuple[float, float]]) -> float | None:
    """The latency that this share of requests stays below, as Prometheus estimates it; None without requests.

    `classes` are upper limits, ascending, each with the number of requests up to it.
    """
    total = classes[-1][1] if classes else 0
    if not total:
        return None
    wanted = share * total
    for (below, before), (limit, count) in pairwise([(0.0, 0.0), *classes]):
        if count >= wanted:
            return below if limit == float("inf") else below + (limit - below) * (wanted - before) / (count - before)
    return None


def classes_between(earlier: Sample, later: Sample) -> list[tuple[float, float]]:
    """The classes of the requests between two samples."""
    counts = [(float(limit), count - earlier.classes.get(limit, 0)) for limit, count in later.classes.items()]
    return sorted(counts)


def store_metrics(served_store: ServedStore) -> Iterator[Metric]:
    """Metrics of the store, its ingest and the process for typed sentences. Where the store cannot be read, its age is missing."""
    age = snapshot_age(served_store)
    yield _gauge("headscape_ready", "Whether the newest snapshot can be opened.", int(age is not None))
    if age is not None:
        yield _gauge("headscape_snapshot_age_seconds", "Time since the newest snapshot was published.", age)
    yield from _ingest_metrics(served_store)
    yield from _encoder_metrics(ServerFolder(served_store.folder).encoder_process)


def snapshot_age(served_store: ServedStore) -> float | None:
    """Seconds since the newest snapshot was published; None where it cannot be opened."""
    try:
        return time.time() - served_store.snapshot().published.timestamp()
    except StoreError:
        return None


def _ingest_metrics(served_store: ServedStore) -> Iterator[Metric]:
    running, outcome = served_store.ingest, served_store.last_ingest
    yield _gauge("headscape_ingest_running", "Whether an ingest writes the store.", int(running is not None))
    if running is not None:
        stage = GaugeMetricFamily("headscape_ingest_share", "Finished share of the ingest's stage.", labels=["stage"])
        stage.add_metric([running.stage or "starting"], running.share or 0)
        yield stage
    if outcome is not None:
        yield _gauge("headscape_ingest_failed", "Whether the last ingest failed.", int(bool(outcome.failure)))
        yield _gauge("headscape_ingest_end_timestamp_seconds", "When the last ingest ended.", outcome.ended)


def _encoder_metrics(pid: int | None) -> Iterator[Metric]:
    resident = None if pid is None else resident_memory(pid)
    yield _gauge("headscape_model_running", "Whether the process for typed sentences runs.", int(pid is not None))
    if resident is not None:
        yield _gauge("headscape_model_resident_bytes", "Resident memory of the process for typed sentences.", resident)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def register(server: Flask, served_store: ServedStore, readers: AddressList) -> None:
    """Add the routes; `readers` may read the metrics, and authors who signed in."""

    @server.get(READY)
    def ready() -> Response:
        if request.environ.get(STOPS):
            raise Refusal(STOPPING, 503)
        _check_readable(served_store.snapshot())
        return Response("OK", mimetype="text/plain")

    @server.get(METRICS)
    def metrics() -> Response:
        person = current_person()
        if not (readers.admits(request.environ) or (person.writes and person != LOCAL)):
            raise Refusal(NOT_ADMITTED, 403)
        return Response(served_store.service(Monitor).text(), content_type=CONTENT_TYPE_LATEST)


@cached
def _check_readable(snapshot: Snapshot) -> bool:
    """Read the first sentence of a snapshot, once; raises where it cannot be read."""
    return bool(snapshot.corpus().sentences.text[:1].values.size)
