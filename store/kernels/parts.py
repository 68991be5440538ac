"""Means over sentences of the rows of any part of a corpus, from what is stored of each row."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def sentence_shares(rows: NDArray[np.bool_], sentence: NDArray[np.integer]) -> tuple[Floats, NDArray[np.int64]]:
    """What each row weighs so that the rows of a sentence weigh 1 together, and how many sentences have rows.

    Parameters
    ----------
    rows
        (source, token), `store.kernels.statistics.source_rows` of the part's tokens.
    sentence
        (token,), number of the sentence of each token, from 0.

    Returns
    -------
    (token, source) in float32, and (source,).
    """
    length = int(sentence.max(initial=-1)) + 1
    sizes = np.stack([np.bincount(sentence[own], minlength=length) for own in rows])
    shares = rows / np.maximum(sizes, 1)[:, sentence]
    return np.ascontiguousarray(shares.T, np.float32), (sizes > 0).sum(axis=1)


def weighted_sums(values: Floats, shares: Floats) -> Floats:
    """Sum over tokens of values (..., token) by the shares (token, source) of `sentence_shares`: (source, ...).

    The values of a statistic in float16 are multiplied in float32, whose rounding is far below theirs.
    """
    flat = values.reshape(-1, values.shape[-1]).astype(np.float32)
    sums: Floats = (flat @ shares).T.reshape(-1, *values.shape[:-1])
    return sums
