"""Numbers of page Server: the last hour between its samples, and every route since the server started."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from prometheus_client.metrics_core import Metric

from dashboard.monitoring.monitor import Sample, classes_between, quantile

#: Shares of the requests whose longest latency is shown.
MEDIAN, TAIL = 0.5, 0.95


@dataclass(frozen=True)
class LastHour:
    """Series over the samples of the last hour; rates and latencies are of the time before each sample.

    Attributes
    ----------
    requests, busy, failed
        Answers a second: all, with status 503, with another 5xx.
    median, tail
        Latency in seconds that half and 95% of the requests stay below; None without requests.
    cache, memory
        Bytes of all workers' cached results, and of the memory of the largest worker.
    """

    times: list[datetime]
    requests: list[float]
    busy: list[float]
    failed: list[float]
    median: list[float | None]
    tail: list[float | None]
    cache: list[float]
    memory: list[float]


def last_hour(samples: Sequence[Sample]) -> LastHour:
    """The series of the samples, which start with the second one."""
    steps = list(pairwise(samples))
    return LastHour(
        times=[datetime.fromtimestamp(after.time, UTC) for _, after in steps],
        requests=[_rate(before, after, before.requests, after.requests) for before, after in steps],
        busy=[_rate(before, after, before.busy, after.busy) for before, after in steps],
        failed=[_rate(before, after, before.failed, after.failed) for before, after in steps],
        median=[quantile(MEDIAN, classes_between(before, after)) for before, after in steps],
        tail=[quantile(TAIL, classes_between(before, after)) for before, after in steps],
        cache=[after.cache for _, after in steps],
        memory=[max(after.resident.values(), default=0) for _, after in steps],
    )


def _rate(before: Sample, after: Sample, first: float, last: float) -> float:
    return max(0.0, last - first) / max(after.time - before.time, 1e-9)


@dataclass(frozen=True)
class RouteNumbers:
    """Requests of a route since the server started, how many failed (5xx), and latencies in seconds."""

    route: str
    requests: int
    failed: int
    median: float | None
    tail: float | None


def routes(metrics: Iterable[Metric]) -> list[RouteNumbers]:
    """The routes with requests, those that took most time together first."""
    classes: dict[str, dict[float, float]] = {}
    failed: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for each in (each for metric in metrics for each in metric.samples):
        if each.name == "headscape_request_seconds_bucket":
            classes.setdefault(each.labels["route"], {})[float(each.labels["le"])] = each.value
        elif each.name == "headscape_request_seconds_sum":
            seconds[each.labels["route"]] = each.value
        elif each.name == "headscape_requests_total" and each.labels["status"] == "5xx":
            failed[each.labels["route"]] = failed.get(each.labels["route"], 0) + each.value
    return [
        _route(name, sorted(classes[name].items()), failed.get(name, 0))
        for name in sorted(classes, key=lambda name: -seconds.get(name, 0))
    ]


def _route(name: str, classes: list[tuple[float, float]], failed: float) -> RouteNumbers:
    return RouteNumbers(name, int(classes[-1][1]), int(failed), quantile(MEDIAN, classes), quantile(TAIL, classes))
