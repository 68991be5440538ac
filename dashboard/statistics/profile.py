"""How far a head looks: mean weight by key - query, beside the mean of its layer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.chart_layout import SERIES, SHARES, layout


def profile(offsets: Sequence[int], head: NDArray[np.float64], layer: NDArray[np.float64], name: str) -> go.Figure:
    """The figure of shares by offset: bars of the head, a line for the mean over its layer."""
    says = [say_offset(offset, offsets) for offset in offsets]
    bars: Any = go.Bar(
        x=list(offsets),
        y=head,
        text=says,
        textposition="none",
        marker={"color": SERIES[0], "line": {"width": 0}},
        name=name,
        hovertemplate="%{text}: %{y:.1%}<extra></extra>",
    )
    line: Any = go.Scatter(
        x=list(offsets),
        y=layer,
        text=says,
        mode="lines+markers",
        line={"color": SERIES[1], "width": 1.5},
        marker={"size": 4},
        name="mean of its layer",
        hovertemplate="%{text}, mean of the layer: %{y:.1%}<extra></extra>",
    )
    return go.Figure([bars, line], _layout(offsets))


def _layout(offsets: Sequence[int]) -> dict[str, Any]:
    return layout(
        offset_axis(offsets), SHARES, showlegend=True, bargap=0.15, margin={"l": 44, "r": 8, "t": 30, "b": 42}
    )


def offset_axis(offsets: Sequence[int]) -> dict[str, Any]:
    """The horizontal axis by key - query."""
    return {"title": "key - query, tokens", "tickvals": list(offsets), "ticktext": ticks(offsets), "tickangle": 0}


def ticks(offsets: Sequence[int]) -> list[str]:
    """-5, 0 and 5, and the two ends, which are all that is farther."""
    ends = {offsets[0]: "<", offsets[-1]: ">"}
    return [ends.get(offset, f"{offset}" if offset in (-5, 0, 5) else "") for offset in offsets]


def say_offset(offset: int, offsets: Sequence[int]) -> str:
    """An offset in words."""
    if offset == 0:
        return "the token itself"
    side = "after" if offset > 0 else "before"
    if offset in (offsets[0], offsets[-1]):
        return f"farther than {abs(offset) - 1} {side}"
    return f"{abs(offset)} {side}"
