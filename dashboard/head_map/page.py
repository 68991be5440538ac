"""Page Head map: heads near each other where they attend alike, the divergences behind it, and each head's nearest."""

import dash_mantine_components as dmc
import numpy as np
import plotly.graph_objects as go
from dash import html

from dashboard.head_map.data import clustered, mean_divergence, sample
from dashboard.head_map.divergence_matrix import divergence_matrix
from dashboard.head_map.figures import by_label, by_number
from dashboard.head_map.nearest import nearest
from dashboard.statistics.definitions import unit_title
from dashboard.statistics.grid import said, values_of
from dashboard.ui.charts import chart
from dashboard.ui.controls import choice, head_choices
from dashboard.ui.file_links import file_href, file_links
from dashboard.ui.page import Page
from dashboard.ui.under_way import unmade_of
from dashboard.web.state import telling
from dashboard.web.view import Place
from store import STATISTICS
from store.errors import NotIngested
from store.schema.model import head_name

NO_LABELS = "No head passes a threshold, so none has a label. Colour by layer or by a statistic."


def layout(place: Place) -> Page:
    """The page at a place; where there is no map, a sentence on how to get one."""
    corpus = place.corpus
    title = html.H1(f"Map of all {corpus.layers * corpus.heads} heads")
    if corpus.layers * corpus.heads < 2:
        return _without(title, ["The model has one head, and a map needs two. Ingest a model with more heads."])
    try:
        mean_divergence(corpus)
    except NotIngested as error:
        return _without(title, unmade_of(place, error))
    controls = html.Div([_paint(place), *head_choices(place)], className="controls")
    return Page(
        above=[
            title,
            html.P(
                "A dot is a head; near dots attend alike (Figure 6 of Clark et al. 2019). Point at one for its numbers, click it to open it.",
                className="how-to-read",
            ),
            controls,
            html.Div([html.Div(_map(place)), html.Div(nearest(place, page="head"))], className="split"),
            html.H2("Divergence between heads"),
            *_matrix(place),
        ]
    )


def _without(title: html.H1, says: list[object]) -> Page:
    return Page(above=[title, dmc.Alert(says, color="orange")])


def _paint(place: Place) -> dmc.Select:
    ways = {"layer": "layer", "label": "label"} | {name: STATISTICS[name].title for name in telling("all")}
    return choice("paint", "Colour", ways, place.address.paint, 230)


def _map(place: Place) -> list[object]:
    corpus, address = place.corpus, place.address
    attributes = corpus.divergence.attrs
    says = (
        f"Metric multidimensional scaling of the mean Jensen-Shannon divergence a token, seed {attributes['seed']}; stress "
        f"{float(attributes['stress']):.3f} (0 is faithful, above 0.2 is poor). {sample(corpus)} Directions mean nothing. "
    )
    labelled = address.paint != "label" or (corpus.head_labels.values != "").any()
    return [
        *([] if labelled else [html.P(NO_LABELS, className="caption")]),
        *chart(
            _painted(place),
            of="head-map",
            says=says,
            label=f"Map of {corpus.layers} by {corpus.heads} heads, coloured by {address.paint}",
            data=file_href(place, "map.csv"),
            height=560,
            opens=True,
            turns=address.paint != "layer",
        ),
    ]


def _painted(place: Place) -> go.Figure:
    """The map in the colours of the link."""
    corpus, address = place.corpus, place.address
    points, chosen = corpus.divergence["place"].values, (address.layer, address.head)
    labels = corpus.head_labels.values
    if address.paint == "label":
        texts = [[str(label) or "no label" for label in row] for row in labels]
        return by_label(points, labels, texts, chosen)
    if address.paint == "layer":
        layers = np.repeat(np.arange(corpus.layers, dtype=float)[:, None], corpus.heads, axis=1)
        texts = [[f"layer {layer}{_and(label)}" for label in row] for layer, row in enumerate(labels)]
        return by_number(points, layers, texts, "layer", chosen)
    unit = STATISTICS[address.paint].unit
    values = values_of(corpus.head_statistic, address.paint, "all")
    return by_number(points, values, said(values, unit, None), unit_title(unit), chosen)


def _and(label: str) -> str:
    return f", {label}" if label else ""


def _matrix(place: Place) -> list[object]:
    corpus = place.corpus
    order = clustered(corpus)
    heads = corpus.layers * corpus.heads
    matrix = mean_divergence(corpus).reshape(heads, heads)[np.ix_(order, order)]
    names = [head_name(*divmod(head, corpus.heads)) for head in order]
    says = (
        "Mean Jensen-Shannon divergence a token; the stronger the colour, the more alike. Heads are in the order of average linkage with optimal leaf ordering, so "
        f"that like ones stand together. {sample(corpus)} A click opens the head of the row. "
    )
    label = f"Divergence of every two of {heads} heads"
    return [
        *chart(
            divergence_matrix(matrix, names), of="matrix", says=says, label=label, height=620, opens=True, turns=True
        ),
        file_links(place, "All divergences", "divergence"),
    ]
