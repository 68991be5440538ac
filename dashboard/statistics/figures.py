"""Figures of heads and layers: curves by layer, mixing ratios, attention by relative position and position, classes in vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.charts import (
    ISOLATES,
    NOTE,
    QUIET,
    RAMP,
    SERIES,
    SHARES,
    SYMBOLS,
    colour_bar,
    error_bars,
    layers_across,
    layers_down,
    layout,
    names,
)
from dashboard.ui.text import decimal
from store.phrases import as_label

#: Width of a series within a layer, and the share of this width that the series' heads take.
APART, WIDE = 0.24, 0.7
#: Titles of axes of positions.
OFFSET, KEY = "relative position (key − query)", "position of the key"
Floats = NDArray[np.float64]
#: Pixels of a row of dots, and of the axis and the legend.
ROW, AROUND = 20, 96


@dataclass(frozen=True)
class Curve:
    """Values (layer, head) of a statistic, and the text on hover of each head.

    `between` holds the ends of the 95% intervals of the layers' means (bound, layer); None where they are unknown.
    """

    title: str
    values: Floats
    hover: list[list[str]]
    between: Floats | None = None


def layer_curves(series: Sequence[Curve], *, unit: str, reference: Floats | None = None) -> go.Figure:
    """A dot for every head by layer, a line for the mean of each layer (Figures 2 and 4 of Clark et al. 2019).

    `reference` are the values of uniform attention (layer,), a dashed line.
    """
    traces = [
        trace
        for index, curve in enumerate(series)
        for trace in (_heads_of_layers(curve, index, len(series)), _means_of_layers(curve, index, unit))
    ]
    share = {"tickformat": ".0%"} if unit == "share" else {}
    down = {"title": "" if unit == "share" else unit, "showgrid": True, "rangemode": "tozero", **share}
    across = layers_across(len(series[0].values), 0.6)
    figure = go.Figure(traces, layout(across, down, margin={"l": 52, "r": 8, "t": 30, "b": 24}, showlegend=True))
    dashed = {"color": QUIET, "dash": "dash", "width": 1.5}
    if reference is not None and np.ptp(reference) == 0:
        text = {"text": f"uniform attention: {reference[0]:.2f}", "yanchor": "bottom", "font": {"size": NOTE}}
        figure.add_hline(y=reference[0], line=dashed, annotation=text)
    elif reference is not None:  # queries see fewer keys in some layers
        hover = f"layer %{{x}}, uniform attention: %{{y:.2f}} {unit}<extra></extra>"
        line = {"mode": "lines", "line": dashed, "name": "uniform attention", "hovertemplate": hover}
        figure.add_scatter(x=np.arange(len(reference)), y=reference, **line)
    return figure


def _heads_of_layers(series: Curve, index: int, count: int) -> Any:
    """Dots of heads: within a layer, series stand beside each other; within a series, heads do."""
    layers, heads = series.values.shape
    spread = np.linspace(-0.5, 0.5, heads) * WIDE * APART if heads > 1 else np.zeros(1)
    beside = APART * (index - (count - 1) / 2) + spread
    return go.Scatter(
        x=(np.arange(layers)[:, None] + beside).ravel(),
        y=series.values.ravel(),
        mode="markers",
        marker={"color": SERIES[index], "symbol": SYMBOLS[index], "size": 6, "opacity": 0.45},
        customdata=[name for row in names(layers, heads) for name in row],
        text=[text for row in series.hover for text in row],
        hovertemplate=f"%{{customdata}}, {series.title}: %{{text}}<extra></extra>",
        cliponaxis=False,
        showlegend=False,
        legendgroup=series.title,
    )


def _means_of_layers(series: Curve, index: int, unit: str) -> Any:
    """A line of the layers' means, each with its interval."""
    layers, heads = series.values.shape
    colour = SERIES[index]
    means = np.nanmean(series.values, axis=1) if np.isfinite(series.values).any() else np.full(layers, np.nan)
    number = "%{y:.1%}" if unit == "share" else f"%{{y:.2f}} {unit}"
    between = series.between
    return go.Scatter(
        x=np.arange(layers),
        y=means,
        error_y=None if between is None else error_bars(means, between, colour),
        text=[""] * layers if between is None else [_interval(low, high, unit) for low, high in between.T.tolist()],
        mode="lines+markers",
        line={"color": colour, "width": 2},
        marker={"color": colour, "symbol": SYMBOLS[index], "size": 8 if layers == 1 else 4},
        name=series.title,
        legendgroup=series.title,
        hovertemplate=f"layer %{{x}}, mean of its {heads} heads, {series.title}: {number}%{{text}}<extra></extra>",
    )


def _interval(low: float, high: float, unit: str) -> str:
    if low != low:
        return ""
    ends = (f"{100 * end:.1f}" if unit == "share" else f"{end:.2f}" for end in (low, high))
    return f" (95%: {' to '.join(ends)})"


def mixing_lines(ratios: Mapping[str, Floats]) -> go.Figure:
    """Mixing ratios (layer) by their titles: how much of a token's vector comes from other tokens (Kobayashi 2021)."""
    traces = [ratio_line(title, values, index) for index, (title, values) in enumerate(ratios.items())]
    across = layers_across(max((len(values) for values in ratios.values()), default=1))
    below = {"orientation": "h", "x": 0, "y": -0.22, "yanchor": "top", "font": {"size": NOTE}, **ISOLATES}
    return go.Figure(traces, layout(across, SHARES, showlegend=True, legend=below))


def ratio_line(title: str, values: Floats, index: int) -> Any:
    """A line of shares (layer) with the colour and the symbol of its place in the legend."""
    colour, symbol = SERIES[index % len(SERIES)], SYMBOLS[index % len(SYMBOLS)]
    return go.Scatter(
        x=np.arange(len(values)),
        y=values,
        name=title,
        mode="lines+markers",
        line={"color": colour, "width": 2},
        marker={"symbol": symbol, "size": 8, "color": colour, "line": {"width": 2, "color": colour}},
        hovertemplate=f"layer %{{x}}, {title}: %{{y:.1%}}<extra></extra>",
    )


def expansion_rates(rate: Floats) -> go.Figure:
    """Expansion rates (layer): change of the vectors' norm by a layer's f, from its weights alone (Kobayashi 2021)."""
    line: Any = go.Scatter(
        x=np.arange(len(rate)),
        y=rate,
        mode="lines+markers",
        line={"color": SERIES[0], "width": 2},
        hovertemplate="layer %{x}: %{y:.3f}<extra></extra>",
    )
    across = layers_across(len(rate))
    return go.Figure(line, layout(across, {"title": "rate", "showgrid": True, "rangemode": "tozero"}))


def profile_of_layers(offsets: Sequence[int], shares: Floats) -> go.Figure:
    """Mean attention weight by relative position, a row a layer: shares (offset, layer)."""
    heat: Any = go.Heatmap(
        x=list(offsets),
        z=shares.T,
        customdata=[[spell_offset(offset, offsets) for offset in offsets]] * shares.shape[1],
        colorscale=RAMP,
        zmin=0,
        xgap=1,
        ygap=1,
        colorbar=colour_bar("%"),
        hovertemplate="layer %{y}, %{customdata}: %{z:.1%}<extra></extra>",
    )
    down = layers_down(shares.shape[1])
    return go.Figure(heat, layout(_offset_axis(offsets), down, margin={"l": 52, "r": 4, "t": 30, "b": 42}))


def profile_of_head(offsets: Sequence[int], head: Floats, layer: Floats, name: str) -> go.Figure:
    """Mean attention weight by relative position: bars for the head, a line for the mean of its layer."""
    texts = [spell_offset(offset, offsets) for offset in offsets]
    bars: Any = go.Bar(
        x=list(offsets),
        y=head,
        text=texts,
        textposition="none",
        marker={"color": SERIES[0], "line": {"width": 0}},
        name=name,
        hovertemplate="%{text}: %{y:.1%}<extra></extra>",
    )
    line: Any = go.Scatter(
        x=list(offsets),
        y=layer,
        text=texts,
        mode="lines+markers",
        line={"color": SERIES[1], "width": 1.5},
        marker={"size": 4},
        name="mean of its layer",
        hovertemplate="%{text}, mean of the layer: %{y:.1%}<extra></extra>",
    )
    margin = {"l": 44, "r": 8, "t": 30, "b": 42}
    return go.Figure([bars, line], layout(_offset_axis(offsets), SHARES, showlegend=True, bargap=0.15, margin=margin))


def _offset_axis(offsets: Sequence[int]) -> dict[str, Any]:
    return {"title": OFFSET, "tickvals": list(offsets), "ticktext": offset_ticks(offsets), "tickangle": 0}


def offset_ticks(offsets: Sequence[int]) -> list[str]:
    """Ticks at -5, 0 and 5, and at the two ends, which stand for all farther offsets."""
    ends = {offsets[0]: "<", offsets[-1]: ">"}
    return [ends.get(offset, decimal(offset, 0) if offset in (-5, 0, 5) else "") for offset in offsets]


def spell_offset(offset: int, offsets: Sequence[int]) -> str:
    """A relative position in words."""
    if offset == 0:
        return "the token itself"
    side = "after" if offset > 0 else "before"
    if offset in (offsets[0], offsets[-1]):
        return f"farther than {abs(offset) - 1} {side}"
    return f"{abs(offset)} {side}"


def received_by_position(head: Floats, layer: Floats, count: NDArray[np.int64]) -> go.Figure:
    """Attention received at each position, of a head and of its layer's mean; `count` sentences have the position: (position,) each."""
    positions = np.arange(len(head))
    own: Any = go.Scatter(
        x=positions,
        y=head,
        customdata=count,
        mode="lines+markers",
        line={"color": SERIES[0], "width": 2},
        marker={"size": 4},
        hovertemplate="position %{x}: %{y:.1%} of the attention<br>%{customdata:,} sentences<extra></extra>",
        name="this head",
    )
    mean: Any = go.Scatter(
        x=positions,
        y=layer,
        mode="lines",
        line={"color": QUIET, "width": 1.5, "dash": "dot"},
        hovertemplate="position %{x}, mean of the layer: %{y:.1%}<extra></extra>",
        name="mean of its layer",
    )
    margin = {"l": 44, "r": 8, "t": 30, "b": 42}
    return go.Figure([own, mean], layout({"title": KEY}, SHARES, showlegend=True, margin=margin))


@dataclass(frozen=True)
class Dots:
    """A row of dots for each class.

    Attributes
    ----------
    names
        The classes, the first on top.
    values, interval
        (class,) and (bound, class).
    beside
        The number that each class is compared with: (class,).
    hover
        Text of each row on hover.
    titles
        Names of the two numbers in the legend.
    axis
        Title of the axis.
    even
        Value on the axis with a vertical line.
    """

    names: Sequence[str]
    values: Floats
    interval: Floats
    beside: Floats
    hover: Sequence[str]
    titles: tuple[str, str]
    axis: str
    even: float


def dots_height(rows: int) -> int:
    """Height in pixels of a figure with this number of rows."""
    return AROUND + ROW * rows


def class_dots(shown: Dots) -> go.Figure:
    """Filled dots of `values` with their intervals, and hollow dots of `beside`."""
    rows = np.arange(len(shown.names))
    bars = error_bars(shown.values, shown.interval, SERIES[0]) | {"width": 3}
    filled: Any = go.Scatter(
        x=shown.values,
        y=rows,
        error_x=bars,
        text=shown.hover,
        mode="markers",
        marker={"color": SERIES[0], "symbol": SYMBOLS[0], "size": 8},
        name=shown.titles[0],
        hovertemplate="%{text}<extra></extra>",
    )
    hollow: Any = go.Scatter(
        x=shown.beside,
        y=rows,
        text=shown.hover,
        mode="markers",
        marker={"color": SERIES[1], "symbol": "diamond-open", "size": 8},
        name=shown.titles[1],
        hovertemplate="%{text}<extra></extra>",
    )
    down = {"tickvals": rows, "ticktext": list(shown.names), "range": [len(rows) - 0.5, -0.5], "showgrid": True}
    across = {"title": shown.axis, "showgrid": True}
    figure = go.Figure(
        [hollow, filled], layout(across, down, showlegend=True, margin={"l": 8, "r": 12, "t": 30, "b": 42})
    )
    figure.add_vline(x=shown.even, line={"color": QUIET, "dash": "dot", "width": 1.5})
    return figure


@dataclass(frozen=True)
class LabelLine:
    """Share (layer,) of a vector from a class in sentences of a label, its interval, and `even`, the class's share of the tokens."""

    title: str
    values: Floats
    interval: Floats
    even: float


def label_lines(lines: Sequence[LabelLine]) -> go.Figure:
    """A line for each label over layers, and a dotted line at the class's share of the tokens."""
    traces = [trace for number, line in enumerate(lines) for trace in _line(line, number)]
    below = {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top", "font": {"size": NOTE}, **ISOLATES}
    shares = SHARES | {"tickformat": ".2%"}
    return go.Figure(traces, layout(layers_across(len(lines[0].values)), shares, showlegend=True, legend=below))


def _line(line: LabelLine, number: int) -> list[Any]:
    layers, colour, title = np.arange(len(line.values)), SERIES[number], as_label(line.title)
    drawn = go.Scatter(
        x=layers,
        y=line.values,
        error_y=error_bars(line.values, line.interval, colour),
        mode="lines+markers",
        line={"color": colour, "width": 2},
        marker={"symbol": SYMBOLS[number], "size": 8, "color": colour},
        name=title,
        hovertemplate=f"layer %{{x}}, {title}: %{{y:.3%}}<extra></extra>",
    )
    even = go.Scatter(
        x=layers,
        y=np.full(len(layers), line.even),
        mode="lines",
        line={"color": colour, "width": 1.5, "dash": "dot"},
        name=f"{title}: share of the tokens",
        hovertemplate=f"{title}, share of the tokens: %{{y:.3%}}<extra></extra>",
    )
    return [drawn, even]
