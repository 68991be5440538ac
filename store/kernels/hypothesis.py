"""How well a reader's hypothesis on the words of a sentence says what each head attends to."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from store.kernels.intervals import PERCENTILES

#: Numbers of a hypothesis -> what they say. "Named" are the keys that the hypothesis names for a query; only words count.
MEASURES: Mapping[str, str] = {
    "precision": "of the queries with named keys, the share whose most attended word is named",
    "recall": "of all queries, the share whose most attended word is named",
    "iou": "sum of the smaller over sum of the larger of the weights and of even weights on the named keys",
    "bias": "mean weight of the named keys over that of all words, mean over queries and sentences",
}
#: Counts of a sentence: queries whose most attended word is named, queries with named keys, all queries; sums of the smaller
#: and of the larger weights; the bias, and whether it has one.
_COUNTS = 7
_HITS, _NAMED, _QUERIES, _SMALLER, _LARGER, _BIAS, _BIASED = range(_COUNTS)


class HypothesisCounts(NamedTuple):
    """What each sentence adds: (count, head, sentence)."""

    counts: NDArray[np.float64]

    @property
    def sizes(self) -> dict[str, int]:
        """How many sentences there are, how many of them have queries with named keys, and how many such queries.

        A query whose layer hides its named keys has none in that layer; heads of the layer with most such queries are counted.
        """
        named = self.counts[_NAMED].max(axis=0)
        return {"sentences": len(named), "named_sentences": int((named > 0).sum()), "named_queries": int(named.sum())}

    @property
    def measures(self) -> NDArray[np.float64]:
        """The numbers (measure, head) in the order of `MEASURES`; NaN where no query has named keys."""
        return _measures(self.counts.sum(axis=-1))

    def interval(self, drawn: NDArray[np.floating]) -> NDArray[np.float64]:
        """95% percentile intervals (bound, measure, head), by bootstrap over sentences; NaN where fewer than two have named keys.

        Parameters
        ----------
        drawn
            How often each replicate has each sentence: (sentence, replicate), `store.kernels.intervals.draw_counts`.
        """
        replicates = _measures(self.counts @ drawn)
        known = np.isfinite(replicates).all(axis=(0, 1))
        if known.sum() < 2:
            return np.full((len(PERCENTILES), *replicates.shape[:-1]), np.nan)
        bounds: NDArray[np.float64] = np.percentile(replicates[..., known], PERCENTILES, axis=-1)
        return np.where((self.counts[_NAMED] > 0).sum(axis=-1) > 1, bounds, np.nan)


def count_sentence(
    weights: NDArray[np.floating], named: NDArray[np.bool_], words: int, seen: NDArray[np.integer] | None = None
) -> NDArray[np.float64]:
    """What a sentence adds to the counts: (count, head).

    Parameters
    ----------
    weights
        Attention between words (head, query, key) of the queries with named keys; every row sums to 1.
    named
        Whether the hypothesis names the key for the query: (query, key).
    words
        Words of the sentence, all of which are keys, and queries with or without named keys.
    seen
        Words that each of the queries sees, (query,); None: all.
    """
    counts = np.zeros((_COUNTS, len(weights)))
    queries = len(named)
    counts[_NAMED], counts[_QUERIES], counts[_LARGER] = queries, words, words
    if not queries:
        return counts
    query, key = np.nonzero(named)
    even = (1 / named.sum(axis=1)).astype(weights.dtype)[query]
    of_named = weights[:, query, key]
    top = weights.argmax(axis=-1)
    counts[_HITS] = named[np.arange(queries), top].sum(axis=-1)
    counts[_SMALLER] = np.minimum(of_named, even).sum(axis=-1, dtype=np.float64)
    # Of two numbers the smaller and the larger have their sum; the weights of every query, and even weights, sum to 1.
    counts[_LARGER] += queries - counts[_SMALLER]
    keys = words if seen is None else seen[query]
    counts[_BIAS] = (of_named * even * keys).sum(axis=-1, dtype=np.float64) / queries
    counts[_BIASED] = 1
    return counts


def _measures(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The numbers (measure, ...) of sums (count, ...)."""
    parts = ((_HITS, _NAMED), (_HITS, _QUERIES), (_SMALLER, _LARGER), (_BIAS, _BIASED))
    missing = np.full(sums.shape[1:], np.nan)
    is_named = sums[_NAMED] > 0
    return np.stack([np.divide(sums[own], sums[of], out=missing.copy(), where=is_named) for own, of in parts])
