"""How far every layer looks: mean weight by key - query, layers downwards."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.statistics.profile import offset_axis, say_offset
from dashboard.ui.chart_layout import RAMP, colour_bar, layers_down, layout


def layer_profile(offsets: Sequence[int], shares: NDArray[np.float64]) -> go.Figure:
    """The figure of shares (offset, layer), means over the heads of each layer."""
    heat: Any = go.Heatmap(
        x=list(offsets),
        z=shares.T,
        customdata=[[say_offset(offset, offsets) for offset in offsets]] * shares.shape[1],
        colorscale=RAMP,
        zmin=0,
        xgap=1,
        ygap=1,
        colorbar=colour_bar("%"),
        hovertemplate="layer %{y}, %{customdata}: %{z:.1%}<extra></extra>",
    )
    down = layers_down(shares.shape[1])
    return go.Figure(heat, layout(offset_axis(offsets), down, margin={"l": 52, "r": 4, "t": 30, "b": 42}))
