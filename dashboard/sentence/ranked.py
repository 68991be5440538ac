"""Heads by how much a query attends to a key: the pair is chosen from the sentence's tokens."""

from dash import dcc, html

from dashboard.sentence.chosen import chosen_query
from dashboard.sentence.ranked_heads import RankedHead, ranked_heads
from dashboard.sentence.sentence import Sentence
from dashboard.ui.controls import choice
from dashboard.web.view import Place
from store.schema import head_name

#: Heads that are listed.
LISTED = 12
EMPTY = "Choose a query token in the picture and a key here: the heads are ranked by the attention between them."


def ranked(place: Place) -> list[object]:
    """The choice of a key, and the heads in which the chosen query attends to it most."""
    sentence, query, key = place.sentence, chosen_query(place), place.address.toward
    title = html.H2("Heads by a pair")
    if query is None:
        return [title, html.P(EMPTY, className="caption")]
    if key is None or key >= len(sentence.wordpieces):
        return [title, _key_choice(sentence, None), html.P(EMPTY, className="caption")]
    pair = f"“{sentence.wordpieces[query]}” (query, at {query}) to “{sentence.wordpieces[key]}” (key, at {key})"
    every = ranked_heads(sentence, query, key)
    rows = [_row(place, one) for one in every[:LISTED]]
    head = html.Thead(
        html.Tr([html.Th("head"), *(html.Th(name, className="number") for name in ("weight", "of the row's keys"))])
    )
    return [
        title,
        _key_choice(sentence, key),
        html.P(f"{pair}: the first {len(rows)} of {len(every)} heads.", className="caption"),
        html.Table([head, html.Tbody(rows)], className="rows"),
    ]


def _key_choice(sentence: Sentence, key: int | None) -> object:
    options = {str(position): f"{position}: {piece}" for position, piece in enumerate(sentence.wordpieces)}
    return choice("toward", "Key", options, "" if key is None else str(key), 160)


def _row(place: Place, one: RankedHead) -> html.Tr:
    href = place.address.with_(layer=one.layer, head=one.head, heads=str(one.head)).href
    return html.Tr(
        [
            html.Td(dcc.Link(head_name(one.layer, one.head), href=href)),
            html.Td(f"{100 * one.weight:.1f} %", className="number"),
            html.Td(f"{one.rank_in_row}.", className="number"),
        ]
    )
