"""How much of what differs between tokens' vectors is a difference between groups of tokens. numpy and scipy only."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def explained_share(vectors: Floats, group: NDArray[np.integer]) -> float:
    """Share of the variance between groups, epsilon squared (Kelley 1935): 1 - (within / (n - k)) / (total / (n - 1)).

    Sums of squares are of all features together. Groups drawn by chance give 0 on average, also where they are many,
    so that single numbers may lie a little below. NaN for fewer than two groups, where every token is a group of its own,
    and where nothing varies.

    Parameters
    ----------
    vectors
        (token, feature).
    group
        Group of each token (token,), any numbers; tokens below 0 belong to none and are left out.
    """
    from scipy.sparse import csr_array

    chosen = group >= 0
    own = vectors[chosen].astype(np.float64)
    found, index = np.unique(group[chosen], return_inverse=True)
    tokens, groups = len(own), len(found)
    if groups < 2 or groups == tokens:
        return float("nan")
    own -= own.mean(axis=0)
    total = np.square(own).sum()
    member = csr_array((np.ones(tokens), (index, np.arange(tokens))), shape=(groups, tokens))
    between = (np.square(member @ own).sum(axis=1) / np.bincount(index)).sum()
    if total <= 0:
        return float("nan")
    return float(1 - (total - between) / (tokens - groups) * (tokens - 1) / total)
