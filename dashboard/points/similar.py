"""Exact search over the vectors of a head, and the tokens most similar to a chosen one, with what they have in common.

Every token is scored, on all cores: an index would miss some of the nearest. Vectors stay as they are stored, in float16, but for a piece
that fits a core's cache: reading them in float32 took twice the time.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import xarray as xr
from dash import html
from numpy.typing import NDArray

from dashboard.points.token_groups import FoundToken, groups_table, summary
from dashboard.ui.deferred import DeferredPart
from dashboard.ui.markup import scrolling
from dashboard.ui.text import searched_tokens
from dashboard.ui.work import watched
from dashboard.web.context import Context
from dashboard.web.results import cached
from store import Corpus
from store.schema.model import ROLES

#: Tokens that are searched, from the first, which are a uniform sample.
SEARCHED = 1_048_576
#: Rows of the token axis that are read at once, and that are scored at once.
TILE, PIECE = 32_768, 4_096
Floats = NDArray[np.floating]
#: Scores (token,) of vectors (token, channel), which it may change.
Score = Callable[[NDArray[np.float32]], NDArray[np.float32]]


@dataclass(frozen=True)
class Point:
    """A token of the corpus (padding not counted) as query or key of a head."""

    layer: int
    head: int
    role: str
    token: int


def logits(corpus: Corpus, point: Point, tokens: int) -> Floats:
    """q.k / sqrt(channels) of the point with the other role's vectors of the first `tokens` tokens: (token,)."""
    own, (others, constant) = _vector(corpus, point), _others(corpus, point)
    own *= np.float32(len(own) ** -0.5)
    # What all keys have in common adds one number to all of their logits.
    return _scan(corpus, others, lambda stored: stored @ own, tokens) + constant @ own


def cosines(corpus: Corpus, point: Point, tokens: int) -> Floats:
    """Cosines of the point's vector with those of the same role of the first `tokens` tokens: (token,)."""
    own, (others, constant) = _vector(corpus, point), _of_role(corpus, point, point.role)

    def score(stored: NDArray[np.float32]) -> NDArray[np.float32]:
        stored += constant
        norms = np.sqrt(np.einsum("tc,tc->t", stored, stored) * (own @ own))
        return (stored @ own) / np.maximum(norms, np.finfo(np.float32).tiny)

    return _scan(corpus, others, score, tokens)


def largest_first(scores: Floats, count: int) -> NDArray[np.int64]:
    """The `count` largest scores, the largest first, equal ones in their order; sorting all took most of a request."""
    if count >= len(scores):
        return np.argsort(-scores, kind="stable")
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    candidates = np.flatnonzero(scores >= least)
    return candidates[np.argsort(-scores[candidates], kind="stable")[:count]]


def _of_role(corpus: Corpus, point: Point, role: str) -> tuple[xr.Variable, NDArray[np.float32]]:
    return corpus.stored_vectors(role, layer=point.layer, head=point.head)


def _others(corpus: Corpus, point: Point) -> tuple[xr.Variable, NDArray[np.float32]]:
    return _of_role(corpus, point, ROLES[1 - ROLES.index(point.role)])


def _vector(corpus: Corpus, point: Point) -> NDArray[np.float32]:
    stored, constant = _of_role(corpus, point, point.role)
    vector: NDArray[np.float32] = stored[int(corpus.rows[point.token])].values.astype(np.float32) + constant
    return vector


def _scan(corpus: Corpus, stored: xr.Variable, score: Score, tokens: int) -> NDArray[np.float32]:
    """Scores of stored vectors (token, channel), those of the first `tokens` tokens: (token,)."""
    rows = corpus.rows[:tokens]
    stop = int(rows[-1]) + 1

    def scored(start: int) -> NDArray[np.float32]:
        return _by_pieces(stored[start : min(start + TILE, stop)].values, score)

    with ThreadPoolExecutor(os.cpu_count(), "scan") as pool:
        parts = [pool.submit(scored, start) for start in range(0, stop, TILE)]
        try:
            # Padding is scored too and dropped afterwards: faster than copying the other rows, and no block is read twice.
            return np.concatenate([part.result() for part in watched(parts)])[rows]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # of a reader who left


def _by_pieces(tile: NDArray[np.float16], score: Score) -> NDArray[np.float32]:
    piece = np.empty((min(PIECE, len(tile)), tile.shape[1]), np.float32)
    parts = []
    for start in range(0, len(tile), PIECE):
        own = tile[start : start + PIECE]
        vectors = piece[: len(own)]
        vectors[...] = own
        parts.append(score(vectors))
    return np.concatenate(parts)


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
