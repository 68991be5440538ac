"""Heads ranked by the attention weight of a query on a key."""

from typing import Any, NamedTuple

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html

from dashboard.sentence.picture import ShownSentence
from dashboard.sentence.sentence import Sentence
from dashboard.ui.controls import choice
from dashboard.ui.markup import heading, scrolling
from dashboard.web.state import LinkState
from store.kernels.attention import attention_pattern
from store.schema.model import head_name

#: A box as high without heads as with them.
_BOX = "scroll ranking"
#: Number of listed heads.
LISTED = 12
EMPTY = "Click a line or a cell, or choose a key of the selected query, to rank the heads by its weight."


class RankedHead(NamedTuple):
    """A head, its weight from the query to the key, and the key's rank in the query's row: 1 is its most attended key."""

    layer: int
    head: int
    weight: float
    rank_in_row: int


def ranked_heads(sentence: Sentence, query: int, key: int) -> list[RankedHead]:
    """Every head by its weight from one position to another, the largest first."""
    rows = attention_pattern(sentence.query[:, :, query : query + 1], np.asarray(sentence.key))[:, :, 0]
    weights = rows[:, :, key]
    ranks = 1 + (rows > weights[..., None]).sum(axis=-1)
    order = np.argsort(-weights, axis=None, kind="stable")
    layers, heads = (axis.tolist() for axis in np.unravel_index(order, weights.shape))
    return [
        RankedHead(layer, head, float(weights[layer, head]), int(ranks[layer, head]))
        for layer, head in zip(layers, heads, strict=True)
    ]


def ranking_panel(shown: ShownSentence) -> list[object]:
    """The choice of a key, and the heads with the largest weight from the selected query to it.

    It is as high without a pair as with one, so that a selection moves nothing.
    """
    sentence, pair = shown.sentence, selected_pair(shown)
    is_off = shown.selected_query is None
    choices = [_key_choice(sentence, pair and pair[1], disabled=is_off), _clear(disabled=is_off)]
    return [
        html.H2("Heads ranked by a token pair"),
        html.Div(choices, className="controls"),
        *(_ranking(shown.state, sentence, *pair) if pair else _empty()),
    ]


def selected_pair(shown: ShownSentence) -> tuple[int, int] | None:
    """Positions of the selected query and key; None where either is missing."""
    query, key = shown.selected_query, shown.state.toward
    is_there = key is not None and key < len(shown.sentence.wordpieces)
    return (query, key) if query is not None and key is not None and is_there else None


def _empty() -> list[object]:
    return [html.P(EMPTY, className="caption of-pair"), _table([])]


def _ranking(state: LinkState, sentence: Sentence, query: int, key: int) -> list[object]:
    pair = f"“{sentence.wordpieces[query]}” (query, at {query}) to “{sentence.wordpieces[key]}” (key, at {key})"
    heads = ranked_heads(sentence, query, key)
    rows = [_row(state, head) for head in heads[:LISTED]]
    caption = f"{pair}: the first {len(rows)} of {len(heads)} heads."
    return [html.P(caption, className="caption of-pair", role="status"), _table(rows)]


def _table(rows: list[html.Tr]) -> html.Div:
    """The titles stand there without rows, too."""
    columns = ("head", "weight", "rank of the key")
    table = html.Table([heading(columns, columns[1:]), html.Tbody(rows)], className="rows even")
    return scrolling(table, "Heads ranked by a token pair", _BOX)


def _key_choice(sentence: Sentence, key: int | None, *, disabled: bool) -> dmc.Select:
    options = {str(position): f"{position}: {piece}" for position, piece in enumerate(sentence.wordpieces)}
    return choice("toward", "Key", options, "" if key is None else str(key), 160, disabled=disabled, of_data=True)


def _clear(*, disabled: bool) -> html.Button:
    """Clears the selection (assets/sentence/views.mjs)."""
    named: Any = {"data-sentence": "clear"}
    return html.Button("Clear", type="button", className="plain", disabled=disabled, title="Or press Escape", **named)


def _row(state: LinkState, head: RankedHead) -> html.Tr:
    href = state.with_(layer=head.layer, head=head.head, heads=str(head.head)).href
    return html.Tr(
        [
            html.Td(dcc.Link(head_name(head.layer, head.head), href=href)),
            html.Td(f"{100 * head.weight:.1f}%", className="number"),
            html.Td(f"{head.rank_in_row}.", className="number"),
        ]
    )
