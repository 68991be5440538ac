"""How far distance tells the dot product in a head: the constants of every normalisation, and both as a density."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from dash import html

from dashboard.points.chosen import Chosen
from dashboard.points.density import Agreement, Density, density
from dashboard.ui.charts import chart
from dashboard.ui.file_links import file_href
from dashboard.ui.tables import heading
from dashboard.web.view import Place
from store.amounts import many
from store.normalizations import NORMALIZATIONS
from store.views import ViewName

#: Shown beside raw vectors where the picture itself is of raw ones.
OTHER = "exact"


def panel(place: Place, _chosen: Chosen) -> list[object]:
    """The tab Distance."""
    address, shown = place.address, ViewName.parse(place.view).normalization
    after = OTHER if shown == "raw" else shown
    found = {
        name: density(place.corpus, layer=address.layer, head=address.head, normalization=name)
        for name in ("raw", after)
    }
    titles = {"raw": "Before: raw vectors", after: f"After: {after} ({NORMALIZATIONS[after]})"}
    return [
        html.H2("Does distance tell the dot product?"),
        *[part for name, one in found.items() for part in _chart(place, name, titles[name], one)],
        _constants(place),
    ]


def _chart(place: Place, name: str, title: str, found: Density) -> list[object]:
    address = place.address
    data = file_href(place, f"density/{name}/{address.layer}/{address.head}.csv")
    says = (
        f"{many(found.pairs, 'pair')} of the first {many(found.sentences, 'sentence')}. {_agreement(found.agreement)} "
    )
    return [html.H3(title), *chart(figure(found), of=f"density-{name}", says=says, label=title, data=data, height=230)]


def _agreement(one: Agreement) -> str:
    return f"Correlation {one.pearson:.2f}; of the nearest pairs, weighted, {one.weighted:.2f}; Spearman by cosine, query by query, {one.spearman:.2f}."


def figure(found: Density) -> go.Figure:
    """The density of pairs by dot product and distance, darker where there are more, on a logarithmic scale."""
    counts = np.where(found.counts > 0, np.log10(np.maximum(found.counts, 1)), np.nan)
    heat: Any = go.Heatmap(
        x=(found.dots[1:] + found.dots[:-1]) / 2,
        y=(found.distances[1:] + found.distances[:-1]) / 2,
        z=counts.T,
        customdata=found.counts.T,
        colorscale=[(0, "#9CC7E6"), (0.5, "#0072B2"), (1, "#D55E00")],
        showscale=False,
        hovertemplate="q.k %{x:.2f}, distance %{y:.2f}: %{customdata} pairs<extra></extra>",
    )
    axis = {"showgrid": False, "zeroline": False, "color": "#868E96"}
    layout: Any = {
        "margin": {"l": 48, "r": 8, "t": 6, "b": 38},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": {"title": {"text": "dot product q.k"}, **axis},
        "yaxis": {"title": {"text": "distance"}, **axis},
        "font": {"size": 11},
    }
    return go.Figure(heat, layout)


def _constants(place: Place) -> html.Div:
    """What the ingest has chosen for this head, and what it brings."""
    constants = place.corpus.normalizations.isel(layer=place.address.layer, head=place.address.head)
    rows = []
    for name, meaning in NORMALIZATIONS.items():
        one = constants.sel(normalization=name)
        shift = float(np.linalg.norm(one["shift"].values))
        numbers = (float(one.scale), shift, float(one.weighted_correlation), float(one.spearman))
        cells = [html.Td("" if number != number else f"{number:.2f}", className="number") for number in numbers]
        rows.append(html.Tr([html.Td(name, title=meaning), *cells]))
    names = ("normalisation", "c", "|a|", "weighted", "Spearman")
    head = heading(names, names[1:])
    attributes = place.corpus.normalizations.attrs
    return html.Div(
        [
            html.H3("All normalisations of this head"),
            html.Table([head, html.Tbody(rows)], className="rows"),
            html.P(
                "Queries times c, keys divided by c and moved by a: attention stays what it is. Weighted: AttentionViz's correlation of the "
                f"nearest pairs; Spearman: per query, of cosine distance, on {attributes['judged_on']}. -1 is perfect.",
                className="caption",
            ),
        ]
    )
