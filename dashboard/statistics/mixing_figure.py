"""How much of a token's vector comes from other tokens, layer by layer (Kobayashi 2021)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.chart_layout import SERIES, SHARES, SYMBOLS, layers_across, layout


def mixing(lines: Mapping[str, NDArray[np.float64]]) -> go.Figure:
    """The figure of shares (layer) by their titles."""
    traces = [_line(title, values, place) for place, (title, values) in enumerate(lines.items())]
    layers = max((len(values) for values in lines.values()), default=1)
    across = layers_across(layers)
    legend = {
        "orientation": "h",
        "x": 0,
        "y": -0.22,
        "yanchor": "top",
        "itemclick": False,
        "font": {"size": 11},
    }
    return go.Figure(traces, layout(across, SHARES, showlegend=True, legend=legend))


def _line(title: str, values: NDArray[np.float64], place: int) -> Any:
    colour, symbol = SERIES[place % len(SERIES)], SYMBOLS[place % len(SYMBOLS)]
    return go.Scatter(
        x=np.arange(len(values)),
        y=values,
        name=title,
        mode="lines+markers",
        line={"color": colour, "width": 2},
        marker={"symbol": symbol, "size": 8, "color": colour, "line": {"width": 2, "color": colour}},
        hovertemplate=f"layer %{{x}}, {title}: %{{y:.1%}}<extra></extra>",
    )
