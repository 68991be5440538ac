"""The weights of a sentence's queries on its keys as a heat map, or their difference between two models."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.figures.layout import DIVERGING, RAMP, Layout, colour_bar, layout, square

#: Tokens that find a place on the axes.
NAMED = 36
#: Weights below which whole per cents do not tell the colours apart.
FINE = 0.05


def pattern_matrix(
    weights: NDArray[np.floating], tokens: Sequence[str], *, most: float, diverging: bool = False
) -> go.Figure:
    """The figure of weights (query, key) with colours up to `most`; of differences, with nothing in the middle."""
    names = [f"{token} ({place})" for place, token in enumerate(tokens)]
    sign = "+" if diverging else ""
    heat: Any = go.Heatmap(
        z=weights,
        x=names,
        y=names,
        zmin=-most if diverging else 0,
        zmax=most,
        colorscale=DIVERGING if diverging else RAMP,
        colorbar=_bar(most, diverging),
        hovertemplate=f"from %{{y}} to %{{x}}: %{{z:{sign}.1%}}<extra></extra>",
    )
    return square(go.Figure(heat, _axes(names, tokens)))


def _axes(names: list[str], tokens: Sequence[str]) -> Layout:
    """Keys across, queries downwards; tokens are named where all of them find a place."""
    shown = len(tokens) <= NAMED
    named = {
        "type": "category",
        "tickvals": names,
        "ticktext": list(tokens),
        "showticklabels": shown,
        "tickfont": {"size": 9},
    }
    across, down = named | {"tickangle": 90, "title": "key"}, named | {"autorange": "reversed", "title": "query"}
    margin = {"l": 78, "r": 4, "t": 8, "b": 78} if shown else {"l": 30, "r": 4, "t": 8, "b": 30}
    return layout(across, down, margin=margin)


def _bar(most: float, diverging: bool) -> Layout:
    """As wide as that of weights, so that all are drawn in one size; of small numbers with a digit more."""
    form = f"{'+' if diverging else ''}.{'1' if most < FINE else '0'}%"
    return colour_bar("%") | {"tickformat": form}
