"""How a head attends from position to position, on average over sentences."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.points.exports import Table
from dashboard.ui.significant import significant
from dashboard.web.cache import cached
from store import Corpus
from store.kernels.attention import attention_pattern

#: Sentences at most, from the first on (a uniform sample), and positions of each.
SENTENCES, POSITIONS = 1_000, 64
#: Tokens of a batch, padding included.
TOKENS = 8_192

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PositionMeans:
    """Attention of one head by position.

    Attributes
    ----------
    mean
        Mean over the sentences that have both positions: (query_position, key_position).
    count
        How many these are: (query_position, key_position), never 0.
    sentences
        Sentences looked at.
    longest
        Tokens of the longest of them: later positions than those of `mean` are left out.
    """

    mean: Floats
    count: NDArray[np.int64]
    sentences: int
    longest: int


@cached
def position_means(corpus: Corpus, layer: int, head: int) -> PositionMeans:
    """Means over the first sentences of the corpus."""
    starts, sizes = (corpus.sentences[name].values[:SENTENCES].astype(np.int64) for name in ("row_start", "row_size"))
    stop = int((starts + sizes).max())
    query, key = (array.variable[layer, head, :stop].values.astype(np.float32) for array in (corpus.query, corpus.key))
    total = np.zeros((min(POSITIONS, int(sizes.max())),) * 2)
    for batch in _batches(sizes):
        _add(total, query, key, starts[batch], sizes[batch])
    count = _sentences_with_both(sizes, len(total))
    return PositionMeans(total / count, count, len(sizes), int(sizes.max()))


def position_table(corpus: Corpus, layer: int, head: int) -> Table:
    """A row for each pair of positions: the mean weight, and how many sentences have both."""
    found = position_means(corpus, layer, head)
    query, key = np.indices(found.mean.shape).reshape(2, -1)
    return {
        "query_position": query,
        "key_position": key,
        "weight": np.array(significant(found.mean.ravel().tolist())),
        "sentences": found.count.ravel(),
    }


def _batches(sizes: Rows) -> Iterator[Rows]:
    """Sentences of like length together, the shortest first, so that hardly anything is padding."""
    order = np.argsort(sizes, kind="stable")
    while len(order):
        # The longest of a batch is its last: as many are taken as fit at that length.
        fit = np.arange(1, len(order) + 1) * sizes[order] <= TOKENS
        count = max(1, int(fit.sum()))
        yield order[:count]
        order = order[count:]


def _add(total: Floats, query: NDArray[np.float32], key: NDArray[np.float32], starts: Rows, sizes: Rows) -> None:
    """Add the sum of the patterns of some sentences, as far as positions are counted."""
    offset = np.arange(int(sizes.max()))
    real = offset < sizes[:, None]
    rows = starts[:, None] + np.minimum(offset, sizes[:, None] - 1)
    counted = real[:, : len(total)]
    pattern = attention_pattern(query[rows[:, : len(total)]], key[rows], real)
    sums = np.einsum("sqk,sq->qk", pattern[..., : len(total)], counted.astype(np.float32))
    total[: len(sums), : len(sums)] += sums


def _sentences_with_both(sizes: Rows, positions: int) -> NDArray[np.int64]:
    """Sentences longer than both positions: (query_position, key_position)."""
    longer = (sizes[:, None] > np.arange(positions)).sum(axis=0)
    return np.minimum.outer(longer, longer)
