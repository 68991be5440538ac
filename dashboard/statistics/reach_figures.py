"""Figures of what a vector is made of: classes of tokens as rows of dots, and one class by layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.charts import ISOLATES, NOTE, QUIET, SERIES, SHARES, SYMBOLS, error_bars, layers_across, layout
from store.phrases import as_label

#: Pixels of a row of dots, and of the axis and the legend.
ROW, AROUND = 20, 96
Floats = NDArray[np.float64]


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
        The number that each is compared with: (class,).
    hover
        What each row says.
    titles
        What the two numbers are called in the legend.
    axis
        Title of the axis.
    even
        Where the axis has a line.
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
    """Pixels of a figure of so many rows."""
    return AROUND + ROW * rows


def class_dots(shown: Dots) -> go.Figure:
    """Filled dots with their intervals, and hollow ones beside them."""
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
    """Share of a vector that a class makes up in the sentences of a label: (layer,), its interval and what the number of its tokens would make."""

    title: str
    values: Floats
    interval: Floats
    even: float


def label_lines(lines: Sequence[LabelLine]) -> go.Figure:
    """A line for each label over layers, and dotted its share of the tokens."""
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
