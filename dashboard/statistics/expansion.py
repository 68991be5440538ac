"""By how much a layer's f makes vectors longer or shorter, from its weights alone (Kobayashi 2021)."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.chart_layout import SERIES, layers_across, layout


def expansion(rate: NDArray[np.float64]) -> go.Figure:
    """The figure of rates (layer)."""
    line: Any = go.Scatter(
        x=np.arange(len(rate)),
        y=rate,
        mode="lines+markers",
        line={"color": SERIES[0], "width": 2},
        hovertemplate="layer %{x}: %{y:.3f}<extra></extra>",
    )
    across = layers_across(len(rate))
    return go.Figure(line, layout(across, {"title": "rate", "showgrid": True, "rangemode": "tozero"}))
