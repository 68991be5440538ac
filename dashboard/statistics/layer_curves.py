"""Figures 2 and 4 of Clark et al. 2019: a dot for every head by layer, and the mean of each layer as a line with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.chart_layout import QUIET, SERIES, SYMBOLS, layers_across, layout, names

#: Series stand beside each other within a layer, and in each the heads side by side.
APART, WIDE = 0.24, 0.7


@dataclass(frozen=True)
class Series:
    """One kind of number of every head: values (layer, head), and what is said of each on hover.

    `between` are the ends of the 95 % intervals of the layers' means (bound, layer), where they are known.
    """

    title: str
    values: NDArray[np.float64]
    said: list[list[str]]
    between: NDArray[np.float64] | None = None


def layer_curves(series: Sequence[Series], *, unit: str, reference: float | None = None) -> go.Figure:
    """The figure; `reference` is a dashed line at what uniform attention would have."""
    figure = go.Figure([trace for place, one in enumerate(series) for trace in _traces(one, place, len(series), unit)])
    layers = len(series[0].values)
    across = layers_across(layers, 0.6)
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
    return [_dots(one, place, count), _line(one, place, unit)]


def _dots(one: Series, place: int, count: int) -> Any:
    """The heads."""
    layers, heads = one.values.shape
    colour, symbol = SERIES[place], SYMBOLS[place]
    spread = np.linspace(-0.5, 0.5, heads) * WIDE * APART if heads > 1 else np.zeros(1)
    beside = APART * (place - (count - 1) / 2) + spread
    return go.Scatter(
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


def _line(one: Series, place: int, unit: str) -> Any:
    """The layers, each with the interval of its mean."""
    layers, heads = one.values.shape
    colour, symbol = SERIES[place], SYMBOLS[place]
    means = np.nanmean(one.values, axis=1) if np.isfinite(one.values).any() else np.full(layers, np.nan)
    number = "%{y:.1%}" if unit == "share" else f"%{{y:.2f}} {unit}"
    return go.Scatter(
        x=np.arange(layers),
        y=means,
        error_y=None if one.between is None else _bars(means, one.between, colour),
        text=[""] * layers
        if one.between is None
        else [_between(low, high, unit) for low, high in one.between.T.tolist()],
        mode="lines+markers",
        line={"color": colour, "width": 2},
        marker={"color": colour, "symbol": symbol, "size": 8 if layers == 1 else 4},
        name=one.title,
        hovertemplate=f"layer %{{x}}, mean of its {heads} heads, {one.title}: {number}%{{text}}<extra></extra>",
    )


def _bars(means: NDArray[np.float64], between: NDArray[np.float64], colour: str) -> dict[str, Any]:
    low, high = between
    ends = {"array": np.maximum(high - means, 0), "arrayminus": np.maximum(means - low, 0)}
    return {"type": "data", "symmetric": False, **ends, "color": colour, "thickness": 1.5, "width": 4}


def _between(low: float, high: float, unit: str) -> str:
    if low != low:
        return ""
    ends = (f"{100 * end:.1f}" if unit == "share" else f"{end:.2f}" for end in (low, high))
    return f" (95 %: {' to '.join(ends)})"
