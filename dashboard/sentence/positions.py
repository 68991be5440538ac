"""What a head does by position over the corpus: mean attention for each pair of positions, and of how many sentences."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from dash import html

from dashboard.sentence.position_means import PositionMeans, position_means
from dashboard.ui.charts import chart
from dashboard.ui.file_links import file_href
from dashboard.ui.theme import PALETTE, between
from dashboard.web.view import Place
from store.amounts import many
from store.schema import head_name

#: Stops of the colours of the sentence's own matrix, which stands beside this one (`assets/sentence/shades.js`).
_STOPS = (PALETTE["light"]["panel"], PALETTE["light"]["query"], "#00223D")
#: As there, from no weight to 1 by the square root: most weights are small, and would all look alike.
SHADES = [((step / 16) ** 2, between(_STOPS, step / 16)) for step in range(17)]


def positions(place: Place) -> list[object]:
    """The tab By position."""
    address = place.address
    found = position_means(place.corpus, address.layer, address.head)
    name = head_name(address.layer, address.head)
    data = file_href(place, f"positions/{address.layer}/{address.head}.csv")
    says = (
        f"Mean attention of {name} over the first {found.sentences:,} of {many(place.corpus.n_sentences, 'sentence')}; a cell counts "
        f"those that have both positions{_cut(found)}. Colours are on the scale of the sentence's matrix. "
    )
    return [
        html.H2(f"{name} by position"),
        *chart(
            figure(found),
            of="positions",
            says=says,
            label=f"Mean attention of {name} by position",
            data=data,
            turns=True,
        ),
    ]


def _cut(found: PositionMeans) -> str:
    shown = len(found.mean)
    return f"; positions 0 to {shown - 1} of {found.longest}" if shown < found.longest else ""


def figure(found: PositionMeans) -> go.Figure:
    """A cell for each pair of positions; its count on hover."""
    heat: Any = go.Heatmap(
        z=np.where(found.count > 0, found.mean, np.nan),
        customdata=found.count,
        colorscale=SHADES,
        zmin=0,
        zmax=1,
        colorbar={"thickness": 10, "title": {"text": "weight"}, "tickvals": [0, 0.1, 0.25, 0.5, 1]},
        hovertemplate="query at %{y}, key at %{x}: %{z:.4f}<br>%{customdata} sentences<extra></extra>",
    )
    axis = {"showgrid": False, "zeroline": False, "color": "#868E96"}
    layout: Any = {
        "margin": {"l": 44, "r": 8, "t": 6, "b": 38},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": {"title": {"text": "position of the key"}, **axis},
        "yaxis": {"title": {"text": "position of the query"}, "autorange": "reversed", **axis},
        "font": {"size": 11, "color": "#868E96"},
    }
    return go.Figure(heat, layout)
