"""Figures of relations: all relations by all heads, and one head at every relation."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.charts import QUIET, RAMP, SERIES, SHARES, SYMBOLS, colour_bar, error_bars, layout
from store.schema.model import head_name

Floats = NDArray[np.float64]


def relations_by_heads(relations: Sequence[str], gain: Floats, hover: list[list[str]], heads: int) -> go.Figure:
    """Gain over the best offset in points (relation, layer and head), a column a head; no colour where it is 0.

    Most heads fall far below the offset, and how far says little; the tooltips say it.
    """
    columns = [head_name(*divmod(number, heads)) for number in range(gain.shape[1])]
    heat: Any = go.Heatmap(
        z=100 * gain,
        x=columns,
        y=list(relations),
        hovertext=hover,
        customdata=[columns] * len(relations),
        hovertemplate="%{customdata}, %{y}: %{hovertext}<extra></extra>",
        colorscale=RAMP,
        zmin=0,
        zmax=max(1.0, 100 * float(gain.max())),
        colorbar=colour_bar("points"),
    )
    first = [head_name(layer, 0) for layer in range(gain.shape[1] // heads)]
    ticks = [f"L{layer}" for layer in range(len(first))]
    across = {"tickvals": first, "ticktext": ticks, "side": "top", "type": "category"}
    down = {"autorange": "reversed", "dtick": 1, "type": "category"}
    return go.Figure(heat, layout(across, down, margin={"l": 104, "r": 4, "t": 24, "b": 6}))


def relations_of_head(
    relations: Sequence[str], accuracy: Floats, between: Floats, offset: Floats, random: Floats, name: str
) -> go.Figure:
    """One head at every relation (relation,): a bar with its interval (bound, relation), the best offset, the same head with random weights."""
    bars: Any = go.Bar(
        x=list(relations),
        y=accuracy,
        error_y=error_bars(accuracy, between, QUIET),
        marker={"color": SERIES[0], "line": {"width": 0}},
        name=name,
        hovertemplate="%{x}: %{y:.1%}<extra></extra>",
    )
    beside = [("best offset", offset, SERIES[1], SYMBOLS[1]), ("same head, random weights", random, QUIET, SYMBOLS[4])]
    marks = [_marks(relations, *each) for each in beside]
    across = {"type": "category", "tickangle": -60}
    margin = {"l": 44, "r": 8, "t": 30, "b": 96}
    return go.Figure([bars, *marks], layout(across, SHARES, showlegend=True, bargap=0.25, margin=margin))


def _marks(relations: Sequence[str], name: str, values: Floats, colour: str, symbol: str) -> Any:
    return go.Scatter(
        x=list(relations),
        y=values,
        mode="markers",
        marker={"symbol": symbol, "size": 8, "color": colour, "line": {"width": 2, "color": colour}},
        name=name,
        hovertemplate=f"%{{x}}, {name}: %{{y:.1%}}<extra></extra>",
    )
