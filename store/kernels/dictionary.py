"""Dictionary of a head: which wordpieces, positions and distances its tables bring together most, in logits.

A logit is compared with that of the same query and an average key: the softmax ignores what all keys of a query have in common.
The parts are those of `store.kernels.head_tables.logit_parts`, without the context: word (m + T).T, position (m + P).P, and position and
word, T.P and P.T.
"""

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

#: How often one wordpiece, or one position, is listed at most on either side.
MOST_OF_ONE = 2
#: Distances in tokens, on both sides.
FARTHEST = 10

Floats = NDArray[np.floating]


class Strongest(NamedTuple):
    """Pairs with the largest logits, the largest first: rows of the queries and of the keys, logits, sentences that have both: (pair,)."""

    query: NDArray[np.int64]
    key: NDArray[np.int64]
    logit: NDArray[np.float64]
    sentences: NDArray[np.int64]


def strongest_pairs(
    query: Floats, key: Floats, key_count: NDArray[np.integer], sentences: "csr_matrix", *, least: int, listed: int
) -> Strongest:
    """The pairs with the largest logits above those of an average key, of pairs that enough sentences have; only positive ones.

    Parameters
    ----------
    query, key
        Parts of queries (query, channel) and of keys (key, channel).
    key_count
        How often each key occurs: (key,).
    sentences
        How many sentences have both: (query, key).
    least, listed
        Sentences that a pair has at least, and pairs at most.
    """
    pairs = sentences.tocoo()
    enough = pairs.data >= least
    rows, columns, counts = pairs.row[enough], pairs.col[enough], pairs.data[enough]
    average = key_count @ key / max(1, key_count.sum())
    logits = np.einsum("pc,pc->p", query[rows], (key - average)[columns], dtype=np.float64) / query.shape[-1] ** 0.5
    found: list[int] = []
    of_query, of_key = Counter[int](), Counter[int]()
    for pair in np.argsort(-logits, kind="stable").tolist():
        row, column = int(rows[pair]), int(columns[pair])
        if len(found) == listed or logits[pair] <= 0:
            break
        if of_query[row] < MOST_OF_ONE and of_key[column] < MOST_OF_ONE:
            found.append(pair)
            of_query[row] += 1
            of_key[column] += 1
    return Strongest(
        rows[found].astype(np.int64), columns[found].astype(np.int64), logits[found], counts[found].astype(np.int64)
    )


def offset_logits(
    query: Floats, key: Floats, words: NDArray[np.integer], added: Floats | None = None
) -> NDArray[np.float64]:
    """Mean logit of a key at each distance above that of an average word of the sentence: (offset,) from -10 to 10; NaN where none is.

    Parameters
    ----------
    query, key
        Parts of queries and keys by position: (position, channel); position 0 is a special token.
    words
        Words of each sentence, which stand at positions 1, 2, ...: (sentence,).
    added
        What the model adds to logits between positions: (query_position, key_position).
    """
    last = query.shape[0] - 1
    logits = (query @ key.T).astype(np.float64) / query.shape[-1] ** 0.5
    if added is not None:
        logits = np.where(np.isfinite(added), logits + added, np.nan)
    sums, counts = np.zeros((2, 2 * FARTHEST + 1))
    for size, repeats in zip(*np.unique(np.minimum(words, last), return_counts=True), strict=True):
        own = logits[1 : size + 1, 1 : size + 1]
        mean = np.mean if added is None else np.nanmean
        above = own - mean(own, axis=1, keepdims=True) if size else own
        for place, offset in enumerate(range(-FARTHEST, FARTHEST + 1)):
            diagonal = np.diagonal(above, offset) if abs(offset) < size else np.zeros(0)
            sums[place] += repeats * diagonal.sum()
            counts[place] += repeats * len(diagonal)
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
