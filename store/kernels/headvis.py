"""Numbers of a head in a tree of HeadVis: six metrics, the largest weight of a sentence, the strongest keys of a query.

Definitions follow Neuronpedia's pipeline (Luger, Kamath et al. 2026). Every mean is over the queries of all sentences together: a long
sentence weighs more, where `store.kernels.statistics` weighs sentences equally. Special tokens and the first token count, padding never does.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from store.kernels.statistics import entropy

#: Least weight that counts in the induction score.
INDUCED = 0.01
#: Most keys of a query that are kept, their least weight, and digits of a weight.
KEPT_KEYS, KEPT_WEIGHT, DIGITS = 8, 0.005, 4
#: Metric of a tree -> its meaning.
METRICS: Mapping[str, str] = {
    "self_attention_score": "Mean weight of a query on its own token.",
    "prev_token_score": "Mean weight of a query on the token before it, over the queries that have one.",
    "pattern_entropy": "Mean entropy of the weights of a query, in nats.",
    "qk_distance": "Mean of |q - k| by weight, in tokens. In an encoder keys after the query count too.",
    "qk_distance_variance": "Variance of |q - k| by weight.",
    "induction_score": "Mean weight on the tokens after earlier occurrences of the query's token, over the queries that have one.",
}


class MetricSums:
    """Sums for the metrics of some heads, to which rows of patterns are added, any number of queries at a time."""

    def __init__(self, heads: int) -> None:
        self._sums = np.zeros((len(METRICS), heads))
        self._queries = np.zeros(3)  # queries: all, those after another token, those whose token occurred before

    def add(self, weights: NDArray[np.floating], pieces: NDArray[np.integer], first: int = 0) -> None:
        """Add rows of the pattern of a sentence.

        Parameters
        ----------
        weights
            (head, query_token, key_token).
        pieces
            Token id of every token of the sentence: (key_token,).
        first
            Position of the first query.
        """
        row = np.arange(weights.shape[1])
        query, key = first + row, np.arange(len(pieces))
        distance = abs(query[:, None] - key).astype(np.float64)
        after = query > 0
        repeated, before = np.nonzero((pieces[query, None] == pieces) & (key < query[:, None]))
        induced = weights[:, repeated, before + 1]
        self._queries += len(query), after.sum(), len(np.unique(repeated))
        self._sums += (
            _total(weights[:, row, query]),
            _total(weights[:, row[after], query[after] - 1]),
            _total(entropy(weights)),
            np.einsum("hqk,qk->h", weights, distance),
            np.einsum("hqk,qk->h", weights, distance * distance),
            _total(np.where(induced < INDUCED, 0, induced)),
        )

    @property
    def metrics(self) -> NDArray[np.float64]:
        """Metrics (metric, head) in the order of `METRICS`; NaN where no query counts."""
        every, after, repeated = self._queries
        queries = np.array([every, after, every, every, every, repeated])[:, None]
        means = np.where(queries > 0, self._sums / np.maximum(queries, 1), np.nan)
        means[4] -= means[3] ** 2
        return means


def _total(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    return weights.sum(axis=-1, dtype=np.float64)


def largest_weight(weights: NDArray[np.floating], first: int = 0) -> NDArray[np.floating]:
    """Largest weight of each head (head,) without the first token as query or key; 0 without other tokens. See `MetricSums.add`."""
    others: NDArray[np.floating] = weights[:, max(0, 1 - first) :, 1:].max(axis=(1, 2), initial=0)
    return others


class StrongestKeys(NamedTuple):
    """Keys with the largest weights of each query, query after query: positions of query and key, and weight (pair,)."""

    query: NDArray[np.int64]
    key: NDArray[np.int64]
    weight: NDArray[np.float64]


def strongest_keys(weights: NDArray[np.floating]) -> StrongestKeys:
    """At most `KEPT_KEYS` keys of each query, with weights of at least `KEPT_WEIGHT`, in a head's pattern (query_token, key_token)."""
    strongest = np.sort(np.argsort(-weights, axis=1, kind="stable")[:, :KEPT_KEYS], axis=1)
    row, place = np.nonzero(np.take_along_axis(weights, strongest, axis=1) >= KEPT_WEIGHT)
    key = strongest[row, place]
    found: NDArray[np.float64] = weights[row, key].astype(np.float64)
    return StrongestKeys(row, key, found.round(DIGITS))
