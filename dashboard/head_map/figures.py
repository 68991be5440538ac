"""Figures of heads among each other: the map (Figure 6 of Clark et al. 2019) and the matrix of divergences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.colors import sample_colorscale

from dashboard.ui.charts import NOTE, QUIET, RAMP, SERIES, STEPS, colour_bar_above, every, layout, names, square
from dashboard.ui.theme import LABEL_COLOURS
from store.kernels.heads import LABELS

#: Symbols of labels.
_SYMBOLS = ("circle", "diamond", "square", "star", "triangle-up", "triangle-down", "cross")
#: Most heads whose names fit on an axis of the matrix.
NAMED = 24
#: Lines around the selected head: seen on the darkest and on the lightest cell.
MARKED = SERIES[1]
#: Pixels from the middle of the selected dot to its ring.
RING = 10

Floats = NDArray[np.float64]
Texts = list[list[str]]


def by_number(places: Floats, values: Floats, hover: Texts, title: str, chosen: tuple[int, int]) -> go.Figure:
    """Dots at (layer, head, component) coloured by numbers (layer, head)."""
    marker = _filled(values) | {"colorscale": RAMP, "colorbar": colour_bar_above(title)}
    return _map([_dots(places, hover, np.ones(values.size, bool), marker, "")], places, chosen)


def by_layer(places: Floats, hover: Texts, chosen: tuple[int, int]) -> go.Figure:
    """Dots at (layer, head, component), each layer with a step of one ordered scale."""
    layers, heads = places.shape[:2]
    ticks = list(range(0, layers, every(layers)))
    bar = colour_bar_above("layer") | {"tickvals": ticks, "ticktext": [f"L{layer}" for layer in ticks]}
    bands = {"colorscale": _bands(layers), "cmin": -0.5, "cmax": layers - 0.5, "colorbar": bar}
    marker = _filled(np.repeat(np.arange(layers, dtype=float), heads)) | bands
    return _map([_dots(places, hover, np.ones(layers * heads, bool), marker, "")], places, chosen)


def _bands(count: int) -> list[tuple[float, str]]:
    """A colour scale of so many even steps, without a transition between them."""
    colours = sample_colorscale(list(STEPS), np.linspace(0, 1, count) if count > 1 else [0.5])
    return [(edge / count, colour) for step, colour in enumerate(colours) for edge in (step, step + 1)]


def _filled(values: Floats) -> dict[str, Any]:
    return {"size": 13, "color": values.ravel(), "line": {"color": QUIET, "width": 1}}


def by_label(places: Floats, labels: NDArray[np.str_], hover: Texts, chosen: tuple[int, int]) -> go.Figure:
    """Dots with the colour and symbol of their label (layer, head); unlabelled ones are small and grey."""
    flat = labels.ravel()
    small: dict[str, Any] = {"size": 7, "color": QUIET, "opacity": 0.85}
    traces = [_dots(places, hover, flat == "", small, "unlabelled")]
    for index, label in enumerate(LABELS):
        look = {"color": LABEL_COLOURS[index], "symbol": _SYMBOLS[index], "size": 13}
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
    """Equal axis scales; the axes have no meaning, so they have no numbers. Where few dots are shown, they stay in their places."""
    flat = places.reshape(-1, places.shape[-1])[:, :2]
    across, down = (
        {"showticklabels": False, "ticks": "", "autorangeoptions": {"include": [float(low), float(high)]}}
        for low, high in zip(flat.min(axis=0), flat.max(axis=0), strict=True)
    )
    figure = go.Figure(traces, layout(across, down, margin={"l": 8, "r": 8, "t": 30, "b": 8}))
    figure.update_yaxes(scaleanchor="x", scaleratio=1)
    x, y = places[chosen][:2]
    name = names(*places.shape[:2])[chosen[0]][chosen[1]]
    around = {"x0": -RING, "x1": RING, "y0": -RING, "y1": RING}
    figure.add_shape(
        type="circle", xsizemode="pixel", ysizemode="pixel", xanchor=x, yanchor=y, **around, line={"width": 2}
    )
    figure.add_annotation(x=x, y=y, text=f"<b>{name}</b>", showarrow=False, yshift=RING + 10)
    return figure


def divergence_matrix(divergence: Floats, heads: Sequence[str], chosen: str) -> go.Figure:
    """Mean divergences (head, head) in nats, named in their order; 0 has the most contrast. The chosen head is framed."""
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
    place = heads.index(chosen)
    ticks = {"tickvals": _named_on_axis(heads, place), "tickfont": {"size": NOTE}}
    named = {"type": "category", "title": "layer and head", **ticks}
    margin = {"l": 54, "r": 4, "t": 8, "b": 54}
    down = named | {"autorange": "reversed"}
    figure = square(go.Figure(heat, layout(named | {"tickangle": -90}, down, margin=margin)))
    _frame(figure, place, len(heads))
    return figure.update_yaxes(constraintoward="top")


def _named_on_axis(heads: Sequence[str], chosen: int) -> list[str]:
    """As many heads as fit, and the chosen one instead of its neighbours."""
    step = every(len(heads), NAMED)
    return [name for at, name in enumerate(heads) if at == chosen or (at % step == 0 and abs(at - chosen) >= step)]


def _frame(figure: go.Figure, chosen: int, heads: int) -> None:
    """Lines around the row and the column of the chosen head."""
    own = {"0": chosen - 0.5, "1": chosen + 0.5}
    whole = {"0": -0.5, "1": heads - 0.5}
    for across, down in ((whole, own), (own, whole)):
        ends = {f"x{end}": at for end, at in across.items()} | {f"y{end}": at for end, at in down.items()}
        figure.add_shape(type="rect", **ends, fillcolor="rgba(0,0,0,0)", line={"color": MARKED, "width": 1.5})
