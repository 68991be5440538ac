"""Figures of heads among each other: the map (Figure 6 of Clark et al. 2019) and the matrix of divergences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.charts import QUIET, RAMP, SERIES, STEPS, colour_bar_above, layout, names, square
from store.kernels.labels import LABELS

#: Symbols and hues of labels.
_SYMBOLS = ("circle", "diamond", "square", "star", "triangle-up", "triangle-down", "cross")
_HUES = (*SERIES[:3], "#1A1B1E", "#E69F00", "#CC79A7", "#56B4E9")
#: Most heads whose names fit on the axes of the matrix.
NAMED = 30

Floats = NDArray[np.float64]
Texts = list[list[str]]


def by_number(places: Floats, values: Floats, hover: Texts, title: str, chosen: tuple[int, int]) -> go.Figure:
    """Dots at (layer, head, component) coloured by numbers (layer, head); layers in even steps."""
    marker = {
        "size": 13,
        "color": values.ravel(),
        "colorscale": STEPS if title == "layer" else RAMP,
        "line": {"color": QUIET, "width": 1},
        "colorbar": colour_bar_above(title),
    }
    return _map([_dots(places, hover, np.ones(values.size, bool), marker, "")], places, chosen)


def by_label(places: Floats, labels: NDArray[np.str_], hover: Texts, chosen: tuple[int, int]) -> go.Figure:
    """Dots with the colour and symbol of their label (layer, head); unlabelled ones are small and grey."""
    flat = labels.ravel()
    small: dict[str, Any] = {"size": 7, "color": QUIET, "opacity": 0.85}
    traces = [_dots(places, hover, flat == "", small, "unlabelled")]
    for index, label in enumerate(LABELS):
        look = {"color": _HUES[index % len(_HUES)], "symbol": _SYMBOLS[index % len(_SYMBOLS)], "size": 13}
        if (flat == label).any():
            traces.append(_dots(places, hover, flat == label, look | {"line": {"color": QUIET, "width": 1}}, label))
    figure = _map(traces, places, chosen)
    figure.update_layout(showlegend=True)
    return figure


def _dots(places: Floats, hover: Texts, which: NDArray[np.bool_], marker: dict[str, Any], name: str) -> Any:
    heads = [head for row in names(*places.shape[:2]) for head in row]
    texts = [text for row in hover for text in row]
    x, y = places.reshape(-1, places.shape[-1])[which].T[:2]
    return go.Scatter(
        x=x,
        y=y,
        mode="markers",
        marker=marker,
        name=name,
        customdata=[head for head, shown in zip(heads, which, strict=True) if shown],
        text=[text for text, shown in zip(texts, which, strict=True) if shown],
        hovertemplate="%{customdata}: %{text}<extra></extra>",
    )


def _map(traces: list[Any], places: Floats, chosen: tuple[int, int]) -> go.Figure:
    """Equal axis scales; the axes have no meaning, so they have no numbers."""
    bare = {"showticklabels": False, "ticks": ""}
    figure = go.Figure(traces, layout(bare, bare, margin={"l": 8, "r": 8, "t": 30, "b": 8}))
    figure.update_yaxes(scaleanchor="x", scaleratio=1)
    x, y = places[chosen][:2]
    name = names(*places.shape[:2])[chosen[0]][chosen[1]]
    figure.add_annotation(x=x, y=y, text=name, ax=0, ay=-26, arrowcolor=QUIET)
    return figure


def divergence_matrix(divergence: Floats, heads: Sequence[str]) -> go.Figure:
    """Mean divergences (head, head) in nats, named in their order; 0 has the most contrast."""
    heat: Any = go.Heatmap(
        z=divergence.astype(np.float32),
        x=list(heads),
        y=list(heads),
        colorscale=RAMP,
        reversescale=True,
        zmin=0,
        colorbar=colour_bar_above("nats per token"),
        hovertemplate="%{y} and %{x}: %{z:.3f} nats<extra></extra>",
    )
    named = {"type": "category", "showticklabels": len(heads) <= NAMED, "tickfont": {"size": 9}}
    margin = {"l": 44, "r": 4, "t": 8, "b": 44}
    figure = square(go.Figure(heat, layout(named, named | {"autorange": "reversed"}, margin=margin)))
    return figure.update_yaxes(constraintoward="top")
