"""Layers by heads as a heat map; every cell says its number."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.chart_layout import DIVERGING, RAMP, colour_bar, every, layers_down, layout, names

#: Above this many heads a cell is too narrow for its number; it is there on hover.
WRITTEN = 20


def heat_map(
    values: NDArray[np.float64],
    *,
    written: list[list[str]],
    said: list[list[str]],
    unit: str,
    diverging: bool = False,
    reverse: bool = False,
) -> go.Figure:
    """The figure of values (layer, head).

    `written` stands in the cells, `said` on hover. Diverging colours have nothing in the middle; reversed ones are dark
    where a number is small, as ranks are. Differences of shares are drawn in points.
    """
    layers, heads = values.shape
    drawn = 100 * values if unit == "points" else values
    heat: Any = go.Heatmap(
        z=drawn,
        text=written if heads <= WRITTEN else None,
        texttemplate="%{text}" if heads <= WRITTEN else None,
        hovertext=said,
        hovertemplate="%{customdata}: %{hovertext}<extra></extra>",
        customdata=names(layers, heads),
        reversescale=reverse,
        xgap=2,
        ygap=2,
        colorbar=colour_bar(unit),
        **_colours(drawn, diverging),
    )
    across = {"title": "head", "side": "top", "tickprefix": "H", "dtick": every(heads)}
    return go.Figure(heat, layout(across, layers_down(layers), margin={"l": 52, "r": 4, "t": 46, "b": 6}))


def _colours(values: NDArray[np.float64], diverging: bool) -> dict[str, Any]:
    """Those that diverge reach as far below nothing as above it."""
    if not diverging:
        return {"colorscale": RAMP}
    most = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 1.0
    return {"colorscale": DIVERGING, "zmid": 0, "zmin": -most, "zmax": most}
