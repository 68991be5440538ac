"""Intervals of means over sentences from sums alone, for sentences whose statistics are not stored.

The mean over n sentences has the variance of a sentence's mean over n (the linearisation of a ratio of two sums, as n is
itself drawn: Cochran 1977, section 6.4). With as many sentences as such stores have its distribution is normal.
"""

import numpy as np
from numpy.typing import NDArray

from store.kernels import AnyArray, namespace

#: Standard deviations of a normal distribution around its mean that hold 95%.
DEVIATIONS = 1.959964


def squared_sums(statistics: AnyArray, weights: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Sums over sentences of the squared mean over the rows of a source, and of the square of its mean over heads.

    Parameters
    ----------
    statistics
        (sentence, token, statistic, head), float64 for exact sums; finite in the padding too.
    weights
        `store.kernels.statistics.row_weights`: (source, sentence, token), 0 in the padding.

    Returns
    -------
    (source, statistic, head) and (source, statistic).
    """
    xp = namespace(statistics)
    sentences, tokens, numbers, heads = statistics.shape
    # One product of matrices for each sentence: (source, token) by (token, statistic and head).
    product = xp.matmul(xp.swapaxes(weights, 0, 1), statistics.reshape(sentences, tokens, -1))
    means = product.reshape(sentences, -1, numbers, heads)
    of_heads = means.mean(axis=-1)
    return (means * means).sum(axis=0), (of_heads * of_heads).sum(axis=0)


def interval_of_sums(
    sums: NDArray[np.number], squares: NDArray[np.number], counts: NDArray[np.number]
) -> NDArray[np.float64]:
    """95% intervals of means over sentences. No statistic is negative, and no end of an interval is.

    Parameters
    ----------
    sums, squares
        Sums over sentences of their means, and of the squares of these: (source, ...).
    counts
        Sentences that have rows of a source: (source,).

    Returns
    -------
    (bound, source, ...), NaN where fewer than two sentences count.
    """
    count = np.where(counts > 1, counts, np.nan).reshape(-1, *[1] * (sums.ndim - 1))
    mean = sums / count
    # Where all sentences agree, rounding may leave less than nothing.
    variance = np.maximum(squares / count - mean * mean, 0) / (count - 1)
    reach = DEVIATIONS * np.sqrt(variance)
    return np.stack([np.maximum(mean - reach, 0), mean + reach])
