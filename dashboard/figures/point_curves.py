"""Numbers of every feature point in the order of the model, as lines."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.figures.layout import SERIES, SYMBOLS, Layout, every, layout
from store.feature_points import point_layer, point_title


def point_curves(lines: Mapping[str, NDArray[np.float64]], points: Sequence[str], *, unit: str = "") -> go.Figure:
    """The figure of numbers (point) by their titles; NaN where there is none. Shares are written as per cent."""
    traces = [_line(title, values, points, place, unit) for place, (title, values) in enumerate(lines.items())]
    legend = {"orientation": "h", "x": 0, "y": -0.16, "yanchor": "top", "itemclick": False, "font": {"size": 11}}
    down = {"showgrid": True, "tickformat": ".0%" if unit == "share" else ""}
    margin = {"l": 48, "r": 12, "t": 8, "b": 60}
    return go.Figure(traces, layout(points_along(points), down, showlegend=True, legend=legend, margin=margin))


def points_along(points: Sequence[str]) -> Layout:
    """An axis on which every layer's first point is named."""
    first = {
        layer: place for place, point in reversed(list(enumerate(points))) if (layer := point_layer(point)) is not None
    }
    named = [(place, f"L{layer}") for layer, place in sorted(first.items())][:: every(len(first))]
    ticks = [(0, "input"), *named]
    return {"tickvals": [place for place, _ in ticks], "ticktext": [text for _, text in ticks]}


def _line(title: str, values: NDArray[np.float64], points: Sequence[str], place: int, unit: str) -> Any:
    colour, symbol = SERIES[place % len(SERIES)], SYMBOLS[place % len(SYMBOLS)]
    number = "%{y:.1%}" if unit == "share" else "%{y:.3f}"
    return go.Scatter(
        x=np.arange(len(points)),
        y=values,
        name=title,
        mode="lines+markers",
        line={"color": colour, "width": 2},
        marker={"symbol": symbol, "size": 6, "color": colour, "line": {"width": 1, "color": colour}},
        text=[point_title(point) for point in points],
        hovertemplate=f"%{{text}}, {title}: {number}<extra></extra>",
    )
