"""Every head beside every other: how differently they attend, in an order that puts like heads together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.chart_layout import RAMP, colour_bar, layout, square

#: Heads whose names find a place on the axes.
NAMED = 30


def divergence_matrix(divergence: NDArray[np.float64], heads: Sequence[str]) -> go.Figure:
    """The figure of mean divergences (head, head) in nats, named in their order; the strongest colour is 0."""
    heat: Any = go.Heatmap(
        z=divergence.astype(np.float32),
        x=list(heads),
        y=list(heads),
        colorscale=RAMP,
        reversescale=True,
        zmin=0,
        colorbar=colour_bar("nats a token"),
        hovertemplate="%{y} and %{x}: %{z:.3f} nats<extra></extra>",
    )
    named = {"type": "category", "showticklabels": len(heads) <= NAMED, "tickfont": {"size": 9}}
    figure = go.Figure(
        heat, layout(named, named | {"autorange": "reversed"}, margin={"l": 44, "r": 4, "t": 8, "b": 44})
    )
    return square(figure)
