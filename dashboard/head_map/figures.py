"""Figures of page Head map: dots of heads in a frame, coloured by layer, label, role or number, with named groups; and the matrix."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.colors import sample_colorscale

from dashboard.head_map.clusters import LETTER, Box, HeadCluster, draw_clusters, frame_of, units_per_pixel
from dashboard.roles.shares import RoleShares, groups_by_kind, summary
from dashboard.ui.charts import (
    LINE,
    NOTE,
    QUIET,
    RAMP,
    SERIES,
    STEPS,
    DotGroup,
    colour_bar_above,
    dot_groups,
    every,
    layout,
    names,
    square,
)
from dashboard.ui.theme import LABEL_COLOURS
from store.kernels.heads import LABELS
from store.schema.model import head_name

#: Pixels of a dot with a category.
LARGE = 13
#: Most heads whose names fit on an axis of the matrix.
NAMED = 18
#: Colour of the lines around the selected head: visible on the darkest and on the lightest cell.
MARKED = SERIES[1]
#: Pixels from the middle of the selected dot to its ring.
RING = 10
#: Axis lines that frame the map.
FRAME = {"showline": True, "mirror": True, "linecolor": LINE, "linewidth": 1}
Floats = NDArray[np.float64]
Texts = list[list[str]]


def by_number(places: Floats, values: Floats, hover: Texts, title: str, chosen: tuple[int, int]) -> go.Figure:
    """Dots at (layer, head, component) coloured by numbers (layer, head)."""
    marker = _filled(values) | {"colorscale": RAMP, "colorbar": colour_bar_above(title)}
    return _figure_of_map([_dots(places, hover, np.ones(values.size, bool), marker, "")], places, chosen)


def by_layer(places: Floats, hover: Texts, chosen: tuple[int, int]) -> go.Figure:
    """Dots at (layer, head, component), each layer with a step of one ordered scale."""
    layers, heads = places.shape[:2]
    ticks = list(range(0, layers, every(layers)))
    bar = colour_bar_above("layer") | {"tickvals": ticks, "ticktext": [f"L{layer}" for layer in ticks]}
    bands = {"colorscale": _bands(layers), "cmin": -0.5, "cmax": layers - 0.5, "colorbar": bar}
    marker = _filled(np.repeat(np.arange(layers, dtype=float), heads)) | bands
    return _figure_of_map([_dots(places, hover, np.ones(layers * heads, bool), marker, "")], places, chosen)


def _bands(count: int) -> list[tuple[float, str]]:
    """A colour scale of `count` even steps, without a transition between them."""
    colours = sample_colorscale(list(STEPS), np.linspace(0, 1, count) if count > 1 else [0.5])
    return [(edge / count, colour) for step, colour in enumerate(colours) for edge in (step, step + 1)]


def _filled(values: Floats) -> dict[str, Any]:
    return {"size": LARGE, "color": values.ravel(), "line": {"color": QUIET, "width": 1}}


def by_label(places: Floats, labels: NDArray[np.str_], hover: Texts, chosen: tuple[int, int]) -> go.Figure:
    """Dots with the colour and symbol of their label (layer, head); unlabelled heads are small and grey."""
    titles = {label: label for label in LABELS}
    groups = dot_groups(labels, titles, LABEL_COLOURS, size=LARGE, without="unlabelled")
    return _by_group(places, groups, hover, chosen)


def by_role(places: Floats, shares: RoleShares, chosen: tuple[int, int]) -> go.Figure:
    """Dots with the colour and symbol of the kind of their clearest role; heads without a role are small and grey."""
    layers, heads = shares.clearest.shape
    hover = [[summary(shares, layer, head) for head in range(heads)] for layer in range(layers)]
    return _by_group(places, groups_by_kind(shares, LARGE), hover, chosen)


def _by_group(places: Floats, groups: Sequence[DotGroup], hover: Texts, chosen: tuple[int, int]) -> go.Figure:
    traces = [_dots(places, hover, group.heads.ravel(), group.marker, group.title) for group in groups]
    return _figure_of_map(traces, places, chosen).update_layout(showlegend=True)


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


def _figure_of_map(traces: list[Any], places: Floats, chosen: tuple[int, int]) -> go.Figure:
    """The map with equal axis scales; its axes have no meaning, so no numbers. Dots keep their places where few are shown."""
    dots = _on_map(places)
    left, low, right, high = frame_of(dots, units_per_pixel(dots))
    across, down = (
        {"showticklabels": False, "autorangeoptions": {"include": list(ends)}} | FRAME
        for ends in ((left, right), (low, high))
    )
    figure = go.Figure(traces, layout(across, down, margin={"l": 8, "r": 8, "t": 30, "b": 8}))
    figure.update_yaxes(scaleanchor="x", scaleratio=1)
    x, y = places[chosen][:2]
    around = {"x0": -RING, "x1": RING, "y0": -RING, "y1": RING}
    figure.add_shape(
        type="circle", xsizemode="pixel", ysizemode="pixel", xanchor=x, yanchor=y, **around, line={"width": 2}
    )
    figure.add_annotation(x=x, y=y, text=f"<b>{head_name(*chosen)}</b>", showarrow=False, yshift=RING + 10)
    return figure


def _on_map(places: Floats) -> Floats:
    """The two drawn components of every head's place: (dot, component)."""
    return places.reshape(-1, places.shape[-1])[:, :2]


def with_clusters(
    figure: go.Figure, places: Floats, clusters: Sequence[HeadCluster], chosen: tuple[int, int]
) -> go.Figure:
    """The map with outlined clusters, whose names leave room for the name of the chosen head."""
    dots = _on_map(places)
    unit, (x, y) = units_per_pixel(dots), places[chosen][:2]
    half = LETTER * unit * len(head_name(*chosen)) / 2
    draw_clusters(figure, dots, clusters, [Box(x - half, y - RING * unit, x + half, y + (RING + 20) * unit)])
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
    """Names of as many heads as fit on an axis, and of the chosen head instead of its neighbours."""
    step = every(len(heads), NAMED)
    return [name for at, name in enumerate(heads) if at == chosen or (at % step == 0 and abs(at - chosen) >= step)]


def _frame(figure: go.Figure, chosen: int, heads: int) -> None:
    """Lines around the row and the column of the chosen head."""
    own = {"0": chosen - 0.5, "1": chosen + 0.5}
    whole = {"0": -0.5, "1": heads - 0.5}
    for across, down in ((whole, own), (own, whole)):
        ends = {f"x{end}": at for end, at in across.items()} | {f"y{end}": at for end, at in down.items()}
        figure.add_shape(type="rect", **ends, fillcolor="rgba(0,0,0,0)", line={"color": MARKED, "width": 1.5})
