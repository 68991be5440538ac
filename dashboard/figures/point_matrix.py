"""Every feature point beside every other: how alike the same tokens lie at both."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.figures.layout import RAMP, colour_bar, layout
from dashboard.figures.point_curves import points_along
from store.feature_points import point_title


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
    along = points_along(points)
    figure = go.Figure(
        heat, layout(along, along | {"autorange": "reversed"}, margin={"l": 44, "r": 4, "t": 8, "b": 34})
    )
    figure.update_yaxes(scaleanchor="x", scaleratio=1, constrain="domain")
    figure.update_xaxes(constrain="domain")
    return figure
