"""The weights of a sentence's queries on its keys as a heat map, or their difference between two models."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.chart_layout import DIVERGING, RAMP, Layout, colour_bar, every, layout, square

#: Tokens that find a place on the axes; of more every second, third ... is named.
NAMED = 36
#: Weights below which whole per cents do not tell the colours apart.
FINE = 0.05
#: Pixels for the bar of colours: as many for differences as for weights, so that all are drawn in one size.
BESIDE = 78


def pattern_matrix(
    weights: NDArray[np.floating], tokens: Sequence[str], *, most: float, diverging: bool = False
) -> go.Figure:
    """The figure of weights (query, key) with colours up to `most`; of differences in points, with nothing in the middle."""
    names = [f"{token} ({place})" for place, token in enumerate(tokens)]
    # With a sign for what is positive, d3 has one for what rounds to 0 too.
    number, scale = ("%{z:.1f} points", 100) if diverging else ("%{z:.1%}", 1)
    heat: Any = go.Heatmap(
        z=scale * weights,
        x=names,
        y=names,
        zmin=-scale * most if diverging else 0,
        zmax=scale * most,
        colorscale=DIVERGING if diverging else RAMP,
        colorbar=_bar(most, diverging),
        hovertemplate=f"from %{{y}} to %{{x}}: {number}<extra></extra>",
    )
    figure = square(go.Figure(heat, _axes(names, tokens)))
    return figure.update_yaxes(constraintoward="top").update_xaxes(constraintoward="left")


def _axes(names: list[str], tokens: Sequence[str]) -> Layout:
    """Keys across, queries downwards."""
    step = named_every(len(tokens))
    named = {
        "type": "category",
        "tickvals": names[::step],
        "ticktext": list(tokens[::step]),
        "tickfont": {"size": 9},
    }
    across, down = named | {"tickangle": 90, "title": "key"}, named | {"autorange": "reversed", "title": "query"}
    return layout(across, down, margin={"l": 78, "r": BESIDE, "t": 8, "b": 78})


def named_every(tokens: int) -> int:
    """1 where every token is named on the axes, 2 where every second is, and so on."""
    return every(tokens, NAMED)


def _bar(most: float, diverging: bool) -> Layout:
    """Of small weights with a digit more."""
    if diverging:
        return colour_bar("points")
    return colour_bar("%") | {"tickformat": f".{'1' if most < FINE else '0'}%"}
