"""How much attention a position gets from the rows of its sentence (Clark's column mean)."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.chart_layout import QUIET, SERIES, SHARES, layout


def received_at(head: NDArray[np.float64], layer: NDArray[np.float64], count: NDArray[np.int64]) -> go.Figure:
    """The figure of shares (position) of a head and of the mean over its layer; how many sentences have a position on hover."""
    x = np.arange(len(head))
    own: Any = go.Scatter(
        x=x,
        y=head,
        customdata=count,
        mode="lines+markers",
        line={"color": SERIES[0], "width": 2},
        marker={"size": 4},
        hovertemplate="position %{x}: %{y:.1%} of the attention<br>%{customdata:,} sentences<extra></extra>",
        name="this head",
    )
    mean: Any = go.Scatter(
        x=x,
        y=layer,
        mode="lines",
        line={"color": QUIET, "width": 1.5, "dash": "dot"},
        hovertemplate="position %{x}, mean of the layer: %{y:.1%}<extra></extra>",
        name="mean of its layer",
    )
    frame = layout(
        {"title": "position of the key"}, SHARES, showlegend=True, margin={"l": 44, "r": 8, "t": 30, "b": 42}
    )
    return go.Figure([own, mean], frame)
