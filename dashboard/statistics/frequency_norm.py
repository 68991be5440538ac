"""||f(x)|| against how often a wordpiece occurs (Kobayashi 2020, section 4.3): medians and quartiles in tenths of the tokens."""

from typing import Any

import plotly.graph_objects as go

from dashboard.statistics.norm_by_frequency import NormByFrequency
from dashboard.ui.chart_layout import LINE, SERIES, layout


def frequency_norm(found: NormByFrequency) -> go.Figure:
    """The figure: a band from the first to the third quartile, and the median as a line."""
    said = [f"{low:,} to {high:,} times" for low, high in zip(found.fewest, found.most, strict=True)]
    band = {"x": found.frequency, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    low: Any = go.Scatter(y=found.quartiles[0], **band)
    high: Any = go.Scatter(y=found.quartiles[2], fill="tonexty", fillcolor=LINE, **band)
    median: Any = go.Scatter(
        x=found.frequency,
        y=found.quartiles[1],
        text=said,
        customdata=list(zip(found.quartiles[0], found.quartiles[2], found.tokens, strict=True)),
        mode="lines+markers",
        line={"color": SERIES[0], "width": 2},
        marker={"size": 6},
        hovertemplate=(
            "occurs %{text}: median %{y:.2f}<br>quartiles %{customdata[0]:.2f} to %{customdata[1]:.2f}, "
            "%{customdata[2]:,} tokens<extra></extra>"
        ),
    )
    across = {"title": "occurrences of the wordpiece in the corpus", "type": "log", "dtick": 1}
    down = {"title": "||f(x)||", "showgrid": True, "rangemode": "tozero"}
    return go.Figure([low, high, median], layout(across, down))
