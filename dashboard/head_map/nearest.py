"""The heads that attend most like one head."""

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.head_map.data import mean_divergence, sample
from dashboard.ui.under_way import unmade_of
from dashboard.web.view import Place
from store.errors import NotIngested
from store.kernels.labels import NearHead, nearest_heads
from store.schema.model import head_name

LISTED = 10


def nearest(place: Place, *, listed: int = LISTED, page: str | None = None) -> list[object]:
    """The nearest heads by divergence, each a link; a sentence where the store has no divergences or the model one head."""
    corpus, address = place.corpus, place.address
    title = html.H2(f"Nearest to {head_name(address.layer, address.head)}")
    if corpus.layers * corpus.heads < 2:
        return [title, html.P("The model has one head. Ingest one with more to compare them.", className="caption")]
    try:
        mean = mean_divergence(corpus)
    except NotIngested as error:
        return [title, html.P(unmade_of(place, error), className="caption")]
    found = nearest_heads(mean, address.layer, address.head, listed)
    labels = corpus.head_labels.values
    rows = [_row(place, one, labels, page) for one in found]
    names = html.Thead(html.Tr([html.Th("head"), html.Th("label"), html.Th("nats", className="number")]))
    others = labels.size - 1
    said = f"The nearest {len(found)} of {others}. Jensen-Shannon divergence of the rows, 0 is alike, ln 2 = 0.693 is most. {sample(corpus)}"
    return [title, html.Table([names, html.Tbody(rows)], className="rows"), html.P(said, className="caption")]


def _row(place: Place, one: NearHead, labels: NDArray[np.str_], page: str | None) -> html.Tr:
    address = place.address.on(page or place.address.page).with_(layer=one.layer, head=one.head)
    link = dcc.Link(head_name(one.layer, one.head), href=address.href)
    label = str(labels[one.layer, one.head])
    return html.Tr([html.Td(link), html.Td(label), html.Td(f"{one.divergence:.3f}", className="number")])
