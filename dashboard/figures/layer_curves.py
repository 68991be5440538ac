"""Figures 2 and 4 of Clark et al. 2019: a dot for every head by layer, and the mean of each layer as a line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.figures.layout import QUIET, SERIES, SYMBOLS, every, layout, names

#: Series stand beside each other within a layer, and in each the heads side by side.
APART, WIDE = 0.24, 0.7


@dataclass(frozen=True)
class Series:
    """One kind of number of every head: values (layer, head), and what is said of each on hover."""

    title: str
    values: NDArray[np.float64]
    said: list[list[str]]


def layer_curves(series: Sequence[Series], *, unit: str, reference: float | None = None) -> go.Figure:
    """The figure; `reference` is a dashed line at what uniform attention would have."""
    figure = go.Figure([trace for place, one in enumerate(series) for trace in _traces(one, place, len(series), unit)])
    layers = len(series[0].values)
    across = {"title": "layer", "tickprefix": "L", "dtick": every(layers), "range": [-0.6, layers - 0.4]}
    share = {"tickformat": ".0%"} if unit == "share" else {}
    down = {"title": "" if unit == "share" else unit, "showgrid": True, "rangemode": "tozero", **share}
    figure.update_layout(layout(across, down, margin={"l": 52, "r": 8, "t": 30, "b": 42}))
    figure.update_layout(showlegend=True)
    if reference is not None:
        said = f"uniform attention: {reference:.2f}"
        line = {"color": QUIET, "dash": "dash", "width": 1.5}
        figure.add_hline(y=reference, line=line, annotation={"text": said, "yanchor": "bottom", "font": {"size": 11}})
    return figure


def _traces(one: Series, place: int, count: int, unit: str) -> list[Any]:
    """Dots of the heads, and the line of the layers."""
    layers, heads = one.values.shape
    colour, symbol = SERIES[place], SYMBOLS[place]
    spread = np.linspace(-0.5, 0.5, heads) * WIDE * APART if heads > 1 else np.zeros(1)
    beside = APART * (place - (count - 1) / 2) + spread
    dots: Any = go.Scatter(
        x=(np.arange(layers)[:, None] + beside).ravel(),
        y=one.values.ravel(),
        mode="markers",
        marker={"color": colour, "symbol": symbol, "size": 6, "opacity": 0.45},
        customdata=[name for row in names(layers, heads) for name in row],
        text=[said for row in one.said for said in row],
        hovertemplate=f"%{{customdata}}, {one.title}: %{{text}}<extra></extra>",
        cliponaxis=False,
        showlegend=False,
    )
    number = "%{y:.1%}" if unit == "share" else f"%{{y:.2f}} {unit}"
    line: Any = go.Scatter(
        x=np.arange(layers),
        y=np.nanmean(one.values, axis=1) if np.isfinite(one.values).any() else np.full(layers, np.nan),
        mode="lines+markers",
        line={"color": colour, "width": 2},
        marker={"color": colour, "symbol": symbol, "size": 8 if layers == 1 else 4},
        name=one.title,
        hovertemplate=f"layer %{{x}}, mean of its {heads} heads, {one.title}: {number}<extra></extra>",
    )
    return [dots, line]
