"""The last hour of a server: a sample of its metrics now and then, in one small file that all its workers read."""

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

from prometheus_client.metrics_core import Metric

from dashboard.web.processes import write_whole

#: Seconds between two samples, and samples that are kept: an hour.
EVERY, MOST = 15, 240


@dataclass(frozen=True)
class Sample:
    """The metrics of a server at one moment; counts are since its start.

    Attributes
    ----------
    classes
        Requests by the upper limit of their class of latency, each with those of the classes below.
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
    """The sample of metrics that were collected."""
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
    """Samples in a file; one process writes them."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "history.json"

    @property
    def samples(self) -> list[Sample]:
        """The samples of the last hour, the oldest first."""
        try:
            return [Sample(**each) for each in json.loads(self._file.read_bytes())]
        except FileNotFoundError:
            return []

    def add(self, sample: Sample) -> None:
        """Add a sample; the oldest beyond an hour are dropped."""
        kept = [*self.samples, sample][-MOST:]
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
