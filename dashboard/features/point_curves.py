"""Numbers of every feature point, kind by kind: how what a layer computes changes from layer to layer."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.charts import SERIES, SYMBOLS, layout
from store.schema.features import POINT_KINDS, point_kind, point_layer, point_title

#: What comes before the layers stands under this name.
INPUT = "input"


def point_curves(lines: Mapping[str, NDArray[np.float64]], points: Sequence[str], *, unit: str = "") -> go.Figure:
    """The figure of numbers (point) by their titles; NaN where there is none. Shares are written as per cent."""
    groups = _groups(points)
    traces = [_line(title, values, points, groups, place, unit) for place, (title, values) in enumerate(lines.items())]
    legend = {"orientation": "h", "x": 0, "y": -0.16, "yanchor": "top", "itemclick": False, "font": {"size": 11}}
    down = {"showgrid": True, "tickformat": ".0%" if unit == "share" else ""}
    margin = {"l": 48, "r": 12, "t": 26 + 14 * _lines(groups), "b": 60}
    return go.Figure(
        traces,
        layout(
            _along(points, groups), down, showlegend=True, legend=legend, margin=margin, annotations=_titles(groups)
        ),
    )


def _groups(points: Sequence[str]) -> dict[str, list[int]]:
    """Numbers of the points of each kind; what comes before the layers is one group."""
    groups: dict[str, list[int]] = {}
    for place, point in enumerate(points):
        kind = INPUT if point_layer(point) is None else POINT_KINDS[point_kind(point)].title
        groups.setdefault(kind, []).append(place)
    return groups


def _order(groups: Mapping[str, list[int]]) -> list[int | None]:
    """The points from left to right, with room between kinds."""
    return [place for group in groups.values() for place in (*group, None)][:-1]


def _along(points: Sequence[str], groups: Mapping[str, list[int]]) -> dict[str, Any]:
    """The axis: of each kind its first and last layer are named."""
    order = _order(groups)
    ends = [place for kind, group in groups.items() if kind != INPUT for place in sorted({group[0], group[-1]})]
    return {
        "tickvals": [order.index(place) for place in ends],
        "ticktext": [f"L{point_layer(points[place])}" for place in ends],
        "range": [-0.7, len(order) - 0.3],
    }


def _lines(groups: Mapping[str, list[int]]) -> int:
    """Lines of the longest name, but for the first: a name stands above its points word by word."""
    return max(kind.count(" ") for kind in groups)


def _titles(groups: Mapping[str, list[int]]) -> list[dict[str, Any]]:
    """The name of every kind above its points."""
    order = _order(groups)
    middle = {kind: (order.index(group[0]) + order.index(group[-1])) / 2 for kind, group in groups.items()}
    look = {"yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False, "font": {"size": 11}}
    return [{"x": x, "text": kind.replace(" ", "<br>"), **look} for kind, x in middle.items()]


def _line(
    title: str,
    values: NDArray[np.float64],
    points: Sequence[str],
    groups: Mapping[str, list[int]],
    place: int,
    unit: str,
) -> Any:
    colour, symbol = SERIES[place % len(SERIES)], SYMBOLS[place % len(SYMBOLS)]
    number = "%{y:.1%}" if unit == "share" else "%{y:.3f}"
    order = _order(groups)
    return go.Scatter(
        x=np.arange(len(order)),
        y=[np.nan if one is None else float(values[one]) for one in order],
        name=title,
        mode="lines+markers",
        line={"color": colour, "width": 2},
        marker={"symbol": symbol, "size": 6, "color": colour, "line": {"width": 1, "color": colour}},
        text=["" if one is None else point_title(points[one]) for one in order],
        hovertemplate=f"%{{text}}, {title}: {number}<extra></extra>",
    )
