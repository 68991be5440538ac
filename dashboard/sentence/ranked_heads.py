"""Heads ranked by the attention weight of a query on a key."""

from typing import NamedTuple

import numpy as np
from dash import dcc, html

from dashboard.sentence.encoder import shown_sentence
from dashboard.sentence.picture import selected_query
from dashboard.sentence.sentence import Sentence
from dashboard.ui.controls import choice
from dashboard.web.context import Context
from store.kernels.attention import attention_pattern
from store.schema.model import head_name

#: Number of listed heads.
LISTED = 12
EMPTY = "Select a query in the picture and a key here to rank the heads by the weight between them."


class RankedHead(NamedTuple):
    """A head, its weight from the query to the key, and the key's rank in the query's row: 1 is its most attended key."""

    layer: int
    head: int
    weight: float
    rank_in_row: int


def ranked_heads(sentence: Sentence, query: int, key: int) -> list[RankedHead]:
    """Every head by its weight from one position to another, the largest first."""
    rows = attention_pattern(sentence.query[:, :, query : query + 1], sentence.key)[:, :, 0]
    weights = rows[:, :, key]
    ranks = 1 + (rows > weights[..., None]).sum(axis=-1)
    order = np.argsort(-weights, axis=None, kind="stable")
    layers, heads = (axis.tolist() for axis in np.unravel_index(order, weights.shape))
    return [
        RankedHead(layer, head, float(weights[layer, head]), int(ranks[layer, head]))
        for layer, head in zip(layers, heads, strict=True)
    ]


def ranking_panel(context: Context) -> list[object]:
    """The choice of a key, and the heads with the largest weight from the selected query to it."""
    sentence, query, key = shown_sentence(context), selected_query(context), context.state.toward
    title = html.H2("Heads ranked by a token pair")
    if query is None:
        return [title, html.P(EMPTY, className="caption")]
    if key is None or key >= len(sentence.wordpieces):
        return [title, _key_choice(sentence, None), html.P(EMPTY, className="caption")]
    pair = f"“{sentence.wordpieces[query]}” (query, at {query}) to “{sentence.wordpieces[key]}” (key, at {key})"
    heads = ranked_heads(sentence, query, key)
    rows = [_row(context, head) for head in heads[:LISTED]]
    titles = html.Thead(
        html.Tr([html.Th("head"), *(html.Th(name, className="number") for name in ("weight", "rank of the key"))])
    )
    return [
        title,
        _key_choice(sentence, key),
        html.P(f"{pair}: the first {len(rows)} of {len(heads)} heads.", className="caption"),
        html.Table([titles, html.Tbody(rows)], className="rows"),
    ]


def _key_choice(sentence: Sentence, key: int | None) -> object:
    options = {str(position): f"{position}: {piece}" for position, piece in enumerate(sentence.wordpieces)}
    return choice("toward", "Key", options, "" if key is None else str(key), 160)


def _row(context: Context, head: RankedHead) -> html.Tr:
    href = context.state.with_(layer=head.layer, head=head.head, heads=str(head.head)).href
    return html.Tr(
        [
            html.Td(dcc.Link(head_name(head.layer, head.head), href=href)),
            html.Td(f"{100 * head.weight:.1f} %", className="number"),
            html.Td(f"{head.rank_in_row}.", className="number"),
        ]
    )
