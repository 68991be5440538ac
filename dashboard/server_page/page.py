"""Page Server: requests, latencies, memory and the routes of the server, for authors."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import dash_mantine_components as dmc
import plotly.graph_objects as go
from dash import html

from dashboard.access.person import current_person
from dashboard.monitoring.monitor import SAMPLE_SECONDS, Monitor, Sample, snapshot_age
from dashboard.server_page.data import LastHour, RouteNumbers, last_hour, routes
from dashboard.store_page.table import stacked_table
from dashboard.topic import Topic
from dashboard.ui.charts import SERIES, chart, layout
from dashboard.ui.controls import info
from dashboard.ui.markup import scrolling
from dashboard.ui.page import Page
from dashboard.web.context import Context
from dashboard.web.errors import Refusal
from store.phrases import many

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


def server(context: Context) -> Page:
    """The page. Raises `Refusal` for readers: the numbers tell what others do."""
    if not current_person().writes:
        raise Refusal(FOR_AUTHORS, 403)
    monitor = context.library.get(Monitor)
    samples = monitor.history.samples
    return Page(
        above=[
            html.H1("Server"),
            _now(samples, context),
            *_charts(samples),
            *_routes(routes(monitor.metrics.collect())),
        ]
    )


def _now(samples: Sequence[Sample], context: Context) -> dmc.Table:
    age, ingest = snapshot_age(context.library), context.ingest
    facts = {
        "newest snapshot": "cannot be opened" if age is None else f"{_duration(age)} old",
        "ingest": "none is running" if ingest is None else f"stage {ingest.stage or 'starting'}",
    }
    if samples:
        facts |= _of_sample(samples[-1], samples[0])
    rows = [html.Tr([html.Th(name, scope="row"), html.Td(value)]) for name, value in facts.items()]
    return dmc.Table(html.Tbody(rows), className="facts")


def _of_sample(newest: Sample, oldest: Sample) -> dict[str, str]:
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
        "readers in queues": f"{newest.waiting:,.0f}",
        "cached results": _megabytes(newest.cache),
        "last hour": f"{many(requests, 'request')}, {busy:,} told to come back later, {failed:,} failed",
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
    caption = ["Requests since the server started, the longest together first.", info("routes", _ROUTES)]
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
    layout=server,
    changes=True,
    for_authors=True,
)
