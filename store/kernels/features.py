"""Similarity of the vectors of the same tokens at two feature points, and their variance between groups. numpy and scipy."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from store.kernels.projection import unit

Floats = NDArray[np.floating]


def summed_cosine(vectors: Floats) -> NDArray[np.float64]:
    """Sum over tokens of the cosine between the vectors of a token at two feature points.

    Parameters
    ----------
    vectors
        (point, token, feature). A zero vector has the cosine 0 with every vector.

    Returns
    -------
    (point, other_point).
    """
    flat = unit(vectors).reshape(len(vectors), -1)
    return np.asarray(flat @ flat.T, np.float64)


def linear_cka(vectors: Sequence[Floats], *, each: Callable[..., Iterable[float]] = map) -> NDArray[np.float64]:
    """Linear centred kernel alignment (CKA) of the vectors of the same tokens at two feature points, 0 to 1.

    |Y'X|^2 / (|X'X| |Y'Y|) in Frobenius norms, with the mean of each feature subtracted (Kornblith et al. 2019, section 3).
    CKA does not change if the vectors of a point are rotated or scaled.

    Parameters
    ----------
    vectors
        (token, feature) of each point.
    each
        Maps a function over pairs of points: `map`, or a pool's `map`.

    Returns
    -------
    (point, other_point), NaN where all tokens have the same vector.
    """
    points = len(vectors)
    centred = [own - own.mean(axis=0) for own in vectors]
    pairs = np.tril_indices(points)
    squared = np.zeros((points, points))
    squared[pairs] = list(each(lambda pair: _squared_product(centred[pair[0]], centred[pair[1]]), np.transpose(pairs)))
    squared = np.maximum(squared, squared.T)
    lengths = np.sqrt(np.diagonal(squared))
    scale = lengths[:, None] * lengths
    return np.where(scale > 0, squared / np.where(scale > 0, scale, 1), np.nan)


def _squared_product(own: Floats, other: Floats) -> float:
    return float(np.square(own.T @ other, dtype=np.float64).sum())


def explained_share(vectors: Floats, group: NDArray[np.integer]) -> float:
    """Share of the variance between groups, epsilon squared (Kelley 1935): 1 - (within / (n - k)) / (total / (n - 1)).

    Sums of squares are over all features. Random groups give 0 on average, for any number of groups: single values may be
    slightly negative. NaN for fewer than two groups, where each token is its own group, and where all vectors are equal.

    Parameters
    ----------
    vectors
        (token, feature).
    group
        Group of each token (token,), any integers; tokens of a negative group are left out.
    """
    from scipy.sparse import csr_array

    chosen = group >= 0
    own = vectors[chosen].astype(np.float64)
    names, index = np.unique(group[chosen], return_inverse=True)
    tokens, groups = len(own), len(names)
    if groups < 2 or groups == tokens:
        return float("nan")
    own -= own.mean(axis=0)
    total = np.square(own).sum()
    member = csr_array((np.ones(tokens), (index, np.arange(tokens))), shape=(groups, tokens))
    between = (np.square(member @ own).sum(axis=1) / np.bincount(index)).sum()
    if total <= 0:
        return float("nan")
    return float(1 - (total - between) / (tokens - groups) * (tokens - 1) / total)
