"""Every feature point beside every other: how alike the same tokens lie at both."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.charts import RAMP, Layout, colour_bar, every, layout, square
from store.schema.features import point_layer, point_title


def point_matrix(values: NDArray[np.float64], points: Sequence[str], *, measure: str) -> go.Figure:
    """The figure of a measure (point, point), 0 to 1."""
    titles = [point_title(point) for point in points]
    heat: Any = go.Heatmap(
        z=values.astype(np.float32),
        customdata=[[f"{one} and {other}" for other in titles] for one in titles],
        colorscale=RAMP,
        zmin=0,
        zmax=1,
        colorbar=colour_bar(measure),
        hovertemplate="%{customdata}: %{z:.3f}<extra></extra>",
    )
    along = _along(points)
    figure = go.Figure(
        heat, layout(along, along | {"autorange": "reversed"}, margin={"l": 44, "r": 4, "t": 8, "b": 34})
    )
    return square(figure)


def _along(points: Sequence[str]) -> Layout:
    """The points in the order of the model; every layer's first is named."""
    first = {
        layer: place for place, point in reversed(list(enumerate(points))) if (layer := point_layer(point)) is not None
    }
    named = [(place, f"L{layer}") for layer, place in sorted(first.items())][:: every(len(first))]
    ticks = [(0, "input"), *named]
    return {"tickvals": [place for place, _ in ticks], "ticktext": [text for _, text in ticks]}
