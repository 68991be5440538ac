"""How alike the vectors of the same tokens are at two feature points. numpy only."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from store.kernels.normalization import unit

Floats = NDArray[np.floating]


def summed_cosine(vectors: Floats) -> NDArray[np.float64]:
    """Sum over tokens of the cosine between a token's vectors at two points: (point, other_point).

    `vectors` are (point, token, feature); a vector of zeros has the cosine 0 with every other.
    """
    flat = unit(vectors).reshape(len(vectors), -1)
    return np.asarray(flat @ flat.T, np.float64)


def linear_cka(vectors: Sequence[Floats], *, each: Callable[..., Iterable[float]] = map) -> NDArray[np.float64]:
    """Linear centred kernel alignment of the tokens' vectors at any two points: (point, other_point), 0 to 1.

    |Y'X|^2 / (|X'X| |Y'Y|) in Frobenius norms with every feature's mean taken away (Kornblith et al. 2019, section 3).
    Rotations and one scale of a point change nothing. NaN where all tokens have one vector.

    Parameters
    ----------
    vectors
        Of each point (token, feature).
    each
        How the pairs of points are worked through: `map`, or that of a pool.
    """
    points = len(vectors)
    centred = [one - one.mean(axis=0) for one in vectors]
    pairs = np.tril_indices(points)
    squared = np.zeros((points, points))
    squared[pairs] = list(each(lambda pair: _squared_product(centred[pair[0]], centred[pair[1]]), np.transpose(pairs)))
    squared = np.maximum(squared, squared.T)
    lengths = np.sqrt(np.diagonal(squared))
    scale = lengths[:, None] * lengths
    return np.where(scale > 0, squared / np.where(scale > 0, scale, 1), np.nan)


def _squared_product(one: Floats, other: Floats) -> float:
    return float(np.square(one.T @ other, dtype=np.float64).sum())


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
