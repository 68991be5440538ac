"""Tokens of the corpus whose query, or key, is most similar to a chosen one, and what they have in common."""

from dataclasses import dataclass

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.points.scan import SEARCHED, Point, cosines, largest_first
from dashboard.points.token_groups import FoundToken, groups_table
from dashboard.points.token_summary import summary
from dashboard.ui.deferred import DeferredPart
from dashboard.ui.markup import scrolling
from dashboard.ui.text import searched_tokens
from dashboard.web.context import Context
from dashboard.web.results import cached
from store import Corpus

#: Similar tokens that are listed and summarized.
SUMMARIZED = 50


@dataclass(frozen=True)
class Similar:
    """The most similar tokens of the corpus (token,), their cosines (token,), and how many tokens were searched."""

    tokens: NDArray[np.int64]
    cosines: NDArray[np.float32]
    searched: int


@cached
def similar_tokens(corpus: Corpus, point: Point) -> Similar:
    """The other tokens whose vectors of the same role have the largest cosine with the point's, the largest first."""
    searched = min(corpus.n_tokens, SEARCHED)
    scores = cosines(corpus, point, searched)
    if point.token < searched:
        scores[point.token] = -np.inf
    order = largest_first(scores, min(SUMMARIZED, searched - 1))
    return Similar(order, scores[order], searched)


def similar_part(context: Context) -> list[object]:
    """The most similar tokens of the clicked point, and what they have in common."""
    corpus, state = context.corpus, context.state
    if state.token is None:
        return []
    point = Point(state.layer, state.head, state.role, state.token)
    similar = similar_tokens(corpus, point)
    names = {"query": "queries", "key": "keys"}
    title = html.H3(f"Most similar {names[state.role]} in the corpus")
    if not len(similar.tokens):
        return [title, html.P("The corpus has no other token. Run `headscape ingest` with more sentences.")]
    rows = corpus.rows[similar.tokens]
    words = corpus.token_words[rows] if corpus.has_words else np.full(len(rows), -1)
    searched = searched_tokens(corpus, similar.searched)
    found = [
        FoundToken(token, state.role, f"{cosine:.3f}")
        for token, cosine in zip(similar.tokens.tolist(), similar.cosines.tolist(), strict=True)
    ]
    caption = (
        f"By cosine of the {names[state.role]} of this head, over {searched}. "
        f"The first {len(rows)} by wordpiece; below, what they have in common."
    )
    return [
        title,
        scrolling(groups_table(context, found, (state.role, "cosine")), f"Most similar {names[state.role]}"),
        html.P(caption, className="caption"),
        *summary(context, corpus.tokens, rows.tolist(), words),
    ]


SIMILAR = DeferredPart("similar", "the most similar tokens", similar_part, ("layer", "head", "role", "token"), 1016)
