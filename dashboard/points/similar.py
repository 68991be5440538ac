"""Tokens of the corpus whose query, or key, is most similar to a chosen one, and what they have in common."""

from dataclasses import dataclass

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.points.clicked_point import SEARCHED, TILE, Point, largest_first
from dashboard.points.token_groups import FoundToken, groups_table
from dashboard.points.token_summary import summary
from dashboard.ui.deferred import DeferredPart
from dashboard.ui.job import watched
from dashboard.ui.tables import scrolling
from dashboard.ui.text import searched_tokens
from dashboard.web.cache import cached
from dashboard.web.context import Context
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
    cosines = _cosines(corpus, point, corpus.rows[:searched])
    if point.token < searched:
        cosines[point.token] = -np.inf
    order = largest_first(cosines, min(SUMMARIZED, searched - 1))
    return Similar(order, cosines[order], searched)


def _cosines(corpus: Corpus, point: Point, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Cosines of the point's vector with those of these rows, read tile by tile: (token,)."""
    vectors = (corpus.query if point.role == "query" else corpus.key).variable[point.layer, point.head]
    own = vectors[int(corpus.rows[point.token])].values.astype(np.float32)
    parts, stop = [], int(rows[-1]) + 1
    for start in watched(range(0, stop, TILE)):
        # Padding is multiplied too and dropped afterwards: faster than copying the other rows, and no block is read twice.
        read = vectors[start : min(start + TILE, stop)].values.astype(np.float32, copy=False)
        norms = np.sqrt(np.einsum("tc,tc->t", read, read) * (own @ own))
        parts.append((read @ own) / np.maximum(norms, np.finfo(np.float32).tiny))
    return np.concatenate(parts)[rows]


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


SIMILAR = DeferredPart(
    "similar", "the most similar tokens", similar_part, ("layer", "head", "role", "token"), 1016, steps=True
)
