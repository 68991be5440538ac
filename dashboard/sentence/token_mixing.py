"""Tokens of a sentence by layers: how much of each comes from the others."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.chart_layout import RAMP, colour_bar, every, layers_down, layout

#: Above this many tokens a cell is too narrow for its number; it is there on hover and in the table.
WRITTEN = 24
#: Above this many tokens not every name has room.
NAMED = 60


def token_mixing(values: NDArray[np.floating[Any]], wordpieces: Sequence[str]) -> go.Figure:
    """The figure of shares (layer, token)."""
    layers, tokens = values.shape
    said = np.broadcast_to(np.array(wordpieces, object), values.shape)
    heat: Any = go.Heatmap(
        z=values,
        customdata=said,
        texttemplate="%{z:.0%}" if tokens <= WRITTEN else None,
        hovertemplate="%{customdata}, at %{x}, layer %{y}: %{z:.1%}<extra></extra>",
        colorscale=RAMP,
        zmin=0,
        xgap=1,
        ygap=2,
        colorbar=colour_bar("%"),
    )
    shown = list(range(0, tokens, every(tokens, NAMED)))
    names = [wordpieces[place] for place in shown]
    across = {"side": "top", "tickmode": "array", "tickvals": shown, "ticktext": names, "tickangle": -50}
    down = layers_down(layers)
    return go.Figure(heat, layout(across, down, margin={"l": 52, "r": 4, "t": 96, "b": 6}))
