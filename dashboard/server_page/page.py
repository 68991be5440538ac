"""Page Server: requests, latencies and memory of the last hour, and every route since the server started; for authors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import dash_mantine_components as dmc
import plotly.graph_objects as go
from dash import html
from prometheus_client.metrics_core import Metric

from dashboard.access.person import current_person
from dashboard.monitoring.monitor import SAMPLE_SECONDS, Monitor, Sample, classes_between, quantile, snapshot_age
from dashboard.topic import Topic, read_then_draw
from dashboard.ui.charts import SERIES, chart, layout
from dashboard.ui.controls import info
from dashboard.ui.markup import Page, scrolling, stacked_table
from dashboard.web.context import Context
from dashboard.web.errors import Refusal
from store.phrases import many
from store.repository.ingest_status import IngestProgress

#: Shares of the requests whose longest latency is shown.
MEDIAN, TAIL = 0.5, 0.95
FOR_AUTHORS = "Page Server is for authors. Ask those who run this server for that role, or open another page."
COLUMNS = ("route", "requests", "failed", "median", "95%")
HEIGHT = 180
#: Lines differ by these and by their colours.
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_ESTIMATE = (
    "Latencies are estimated from counts of requests in twelve classes, from 5 ms to 30 s, as Prometheus does. They end when an "
    "answer is computed, not when its client has received it."
)
_ROUTES = (
    "Routes are named as in the code and in /metrics; a failed answer has a status of 500 or more, a busy one included."
)


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


@dataclass(frozen=True)
class ServerPage:
    """Samples of the last hour, the routes, seconds since the newest snapshot (None where it cannot be opened), and the ingest."""

    samples: Sequence[Sample]
    routes: Sequence[RouteNumbers]
    age: float | None
    ingest: IngestProgress | None


def read(context: Context) -> ServerPage:
    """Everything that the page shows. Raises `Refusal` for readers: the numbers tell what others do."""
    if not current_person().writes:
        raise Refusal(FOR_AUTHORS, 403)
    monitor = context.served_store.service(Monitor)
    age = snapshot_age(context.served_store)
    return ServerPage(monitor.history.samples, routes(monitor.metrics.collect()), age, context.ingest)


def draw(shown: ServerPage) -> Page:
    """The page."""
    return Page(above=[html.H1("Server"), _now(shown), *_charts(shown.samples), *_routes(shown.routes)])


def _now(shown: ServerPage) -> dmc.Table:
    age, ingest, samples = shown.age, shown.ingest, shown.samples
    facts = {
        "newest snapshot": "cannot be opened" if age is None else f"{_duration(age)} old",
        "ingest": "none is running" if ingest is None else f"stage {ingest.stage or 'starting'}",
    }
    if samples:
        facts |= _describe_sample(samples[-1], samples[0])
    rows = [html.Tr([html.Th(name, scope="row"), html.Td(value)]) for name, value in facts.items()]
    return dmc.Table(html.Tbody(rows), className="facts")


def _describe_sample(newest: Sample, oldest: Sample) -> dict[str, str]:
    workers = sorted(newest.resident.values())
    memory = ", ".join(_megabytes(each) for each in workers)
    requests, busy, failed = (
        max(0, int(last - first))
        for last, first in (
            (newest.requests, oldest.requests),
            (newest.busy, oldest.busy),
            (newest.failed, oldest.failed),
        )
    )
    return {
        "workers": f"{len(workers)}, with {memory} of memory" if workers else "none has been measured",
        "open connections": f"{newest.connections:,.0f}",
        "requests waiting": f"{newest.waiting:,.0f}",
        "cached results": _megabytes(newest.cache),
        "last hour": f"{many(requests, 'request')}, {busy:,} turned away (busy), {failed:,} failed",
    }


def _charts(samples: Sequence[Sample]) -> list[object]:
    """The last hour, once there are two samples."""
    title = html.H2("Last hour")
    if len(samples) < 2:
        return [
            title,
            html.P(f"No numbers yet: a sample is taken every {SAMPLE_SECONDS} s. Reload the page.", className="unmade"),
        ]
    hour, rhythm = (
        last_hour(samples),
        html.P(f"A sample every {SAMPLE_SECONDS} s; times are in UTC.", className="caption"),
    )
    return [title, rhythm, html.Div([html.Div(each) for each in _figures(hour)], className="figures halves")]


def _figures(hour: LastHour) -> list[list[object]]:
    rates = {"all": hour.requests, "busy (503)": hour.busy, "failed (5xx)": hour.failed}
    waits = {"median": _scaled(hour.median, 1e3), "95%": _scaled(hour.tail, 1e3)}
    memory, cache = {"": _scaled(hour.memory, 1e-6)}, {"": _scaled(hour.cache, 1e-6)}
    return [
        _chart("requests", "Requests a second, and those answered with 503 or another 5xx.", hour, rates, "per s"),
        _chart("latency", ["Latency of requests.", info("latencies", _ESTIMATE)], hour, waits, "ms"),
        _chart("memory", "Resident memory of the largest worker.", hour, memory, "MB"),
        _chart("cache", "Cached results of all workers.", hour, cache, "MB"),
    ]


def _chart(
    name: str, caption: object, hour: LastHour, series: Mapping[str, Sequence[float | None]], unit: str
) -> list[object]:
    label = f"Chart of the last hour: {name}"
    return chart(_lines(hour.times, series, unit), name=f"server-{name}", caption=caption, label=label, height=HEIGHT)


def _lines(times: Sequence[datetime], series: Mapping[str, Sequence[float | None]], unit: str) -> go.Figure:
    """A line for each series over time; lines differ by their dashes, too."""
    traces: list[Any] = [
        go.Scatter(
            x=[time.isoformat() for time in times],
            y=list(values),
            name=title,
            mode="lines",
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate=f"%{{x|%H:%M:%S}} UTC: %{{y:,.3~g}} {unit}<extra>{title}</extra>",
        )
        for (title, values), colour, dash in zip(series.items(), SERIES, DASHES, strict=False)
    ]
    down = {"title": unit, "showgrid": True, "rangemode": "tozero", "nticks": 5}
    across = {"type": "date", "tickformat": "%H:%M", "nticks": 6}
    margin = {"l": 56, "r": 12, "t": 28 if len(series) > 1 else 8, "b": 24}
    return go.Figure(traces, layout(across, down, margin=margin, showlegend=len(series) > 1))


def _routes(numbers: Sequence[RouteNumbers]) -> list[object]:
    rows = [
        [each.route, f"{each.requests:,}", f"{each.failed:,}", _milliseconds(each.median), _milliseconds(each.tail)]
        for each in numbers
    ]
    caption = ["Requests since the server started, most total time first.", info("routes", _ROUTES)]
    return [
        html.H2("Routes"),
        html.P(caption, className="caption"),
        scrolling(stacked_table(COLUMNS, rows, numbers=COLUMNS[1:]), "Routes"),
    ]


def _scaled(values: Sequence[float | None], factor: float) -> list[float | None]:
    return [None if value is None else round(factor * value, 3) for value in values]


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1000 * seconds:,.0f} ms"


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


def _duration(seconds: float) -> str:
    if seconds < 3600:
        return f"{max(1, round(seconds / 60))} min"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * 86400 else f"{seconds / 86400:.1f} days"


SERVER = Topic(
    name="server",
    title="Server",
    letter="v",
    docs="running.md#metrics",
    layout=read_then_draw(read, draw),
    changes=True,
    for_authors=True,
)
