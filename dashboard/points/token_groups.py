"""Tokens of the corpus by their wordpiece: how many there are of each, and a few in their sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.points.excerpt import excerpt
from dashboard.web.context import Context
from store import Corpus
from store.phrases import many

#: Wordpieces shown, and sentences of each.
PIECES, SENTENCES = 20, 3
#: Wordpieces of a sentence on each side of the token.
AROUND = 7


@dataclass(frozen=True)
class FoundToken:
    """A token of the corpus in a role, and what its row says of it."""

    token: int
    role: str
    note: str = ""


@dataclass(frozen=True)
class TokenGroup:
    """The tokens of one wordpiece: how many, and the first few in different sentences where there are such."""

    wordpiece: str
    count: int
    examples: tuple[FoundToken, ...]


def token_groups(corpus: Corpus, found: Sequence[FoundToken]) -> list[TokenGroup]:
    """The most frequent wordpieces first, of equal ones the one that comes first."""
    tokens = np.array([token.token for token in found], np.int64)
    ids = corpus.tokens.token_id.values[corpus.rows[tokens]]
    sentences = corpus.tokens.sentence_index.values[corpus.rows[tokens]]
    different, first, counts = np.unique(ids, return_index=True, return_counts=True)
    order = np.lexsort((first, -counts))[:PIECES]
    members = [np.flatnonzero(ids == different[group]) for group in order]
    return [
        TokenGroup(str(corpus.vocab[different[group]]), int(counts[group]), _examples(found, own, sentences))
        for group, own in zip(order, members, strict=True)
    ]


def _examples(
    found: Sequence[FoundToken], own: NDArray[np.int64], sentences: NDArray[np.integer]
) -> tuple[FoundToken, ...]:
    """The first of each sentence, then the others."""
    _, first = np.unique(sentences[own], return_index=True)
    order = [*np.sort(first), *np.setdiff1d(np.arange(len(own)), first)][:SENTENCES]
    return tuple(found[own[place]] for place in order)


def groups_table(
    context: Context, found: Sequence[FoundToken], titles: tuple[str, str], *, unit: str = "token"
) -> html.Table:
    """The groups as a table: a line with the wordpiece and its count, below it sentences that open the token."""
    heads = html.Thead(html.Tr([html.Th(titles[0]), html.Th(titles[1], className="number")]))
    bodies = [_body(context, group, unit) for group in token_groups(context.corpus, found)]
    return html.Table([heads, *bodies], className="rows groups")


def _body(context: Context, group: TokenGroup, unit: str) -> html.Tbody:
    name = html.Th(html.Bdi(group.wordpiece), scope="rowgroup")
    count = html.Td(many(group.count, unit), className="number")
    return html.Tbody([html.Tr([name, count]), *[_row(context, found) for found in group.examples]])


def _row(context: Context, found: FoundToken) -> html.Tr:
    corpus, row = context.corpus, int(context.corpus.rows[found.token])
    sentence, position = (int(corpus.tokens[name].values[row]) for name in ("sentence_index", "position"))
    words: Any = excerpt(corpus.sentence_pieces(sentence), {position: found.role}, around=AROUND)
    href = context.state.with_(token=found.token, role=found.role, tab="point", marks=None).href
    where = f"Open this {found.role}: sentence {sentence:,}, position {position}"
    return html.Tr(
        [html.Td(dcc.Link(words, href=href, title=where), dir="auto"), html.Td(found.note, className="number")]
    )
