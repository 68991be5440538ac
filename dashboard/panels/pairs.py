"""The strongest query-key pairs of a head over the whole corpus."""

import numpy as np
from dash import dcc, html

from dashboard.address import Place
from dashboard.chosen import Chosen
from store import StoreError

SHOWN = 30


def panel(place: Place, _chosen: Chosen) -> list[object]:
    """The tab Top pairs."""
    title = html.H2("Strongest pairs over the corpus")
    try:
        pairs = place.corpus.pairs.isel(layer=place.address.layer, head=place.address.head).load()
    except StoreError as error:
        return [title, html.P(str(error))]
    found = [rank for rank in range(pairs.sizes["rank"]) if int(pairs.query_token[rank]) >= 0]
    numbers = zip(
        *(pairs[name].values[found[:SHOWN]] for name in ("query_token", "key_token", "logit", "weight")), strict=True
    )
    rows = [_row(place, int(query), int(key), float(logit), float(weight)) for query, key, logit, weight in numbers]
    head = html.Thead(html.Tr([html.Th(name) for name in ("query", "key", "logit", "weight", "sentence")]))
    return [
        title,
        html.Table([head, html.Tbody(rows)], className="rows"),
        html.P(
            f"The first {len(rows)} of {len(found)}: the largest q.k / sqrt(channel) within a sentence, over all "
            f"{place.corpus.n_sentences:,} sentences. Each two wordpieces once; [CLS], [SEP] and a token with itself are left out, "
            "they would fill the list.",
            className="caption",
        ),
    ]


def _row(place: Place, query_row: int, key_row: int, logit: float, weight: float) -> html.Tr:
    corpus = place.corpus
    (query, key), token = corpus.wordpieces(np.array([query_row, key_row])), corpus.token_number(query_row)
    positions = [int(corpus.tokens.position.values[row]) for row in (query_row, key_row)]
    sentence = int(corpus.tokens.sentence_index.values[query_row])
    address = place.address.with_(
        token=token, role="query", marks="-".join(map(str, positions)), tab="point", lines="sentence", at=None
    )
    return html.Tr(
        [
            html.Td(query),
            html.Td(key),
            html.Td(f"{logit:.2f}", className="number"),
            html.Td(f"{100 * weight:.0f} %", className="number"),
            html.Td(dcc.Link(f"{sentence:,}", href=address.href, title="Show the pair in its sentence")),
        ]
    )
