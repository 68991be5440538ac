"""How far a picture can be trusted: does the distance on screen tell what attention says? numpy only."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def screen_distance(query: Floats, key: Floats) -> Floats:
    """Euclidean distance of every query to every key: (..., query_token, key_token) from (..., token, component)."""
    return np.sqrt(((query[..., :, None, :] - key[..., None, :, :]) ** 2).sum(axis=-1))


def spearman(pattern: Floats, distance: Floats) -> Floats:
    """Rank correlation of attention and distance over the keys of each query, mean over queries: (...,).

    -1 is a perfect picture: the nearer the key, the more it is attended to (AttentionViz, section 5). Ties get mean
    ranks; a query whose attention or distances are all equal counts as 0.
    """
    from scipy.stats import rankdata

    a, b = (_centred(rankdata(array, axis=-1)) for array in (pattern, distance))
    scale = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    return np.where(scale > 0, (a * b).sum(axis=-1) / np.where(scale > 0, scale, 1), 0).mean(axis=-1)


def recall(pattern: Floats, distance: Floats, *, k: int) -> Floats:
    """Share of the k most attended keys that are among the k nearest on screen, mean over queries: (...,)."""
    attended = np.argsort(-pattern, axis=-1, kind="stable")[..., :k]
    nearest = np.argsort(distance, axis=-1, kind="stable")[..., :k]
    found = (attended[..., :, None] == nearest[..., None, :]).any(axis=-1)
    return found.mean(axis=(-2, -1))


def _centred(ranks: Floats) -> Floats:
    return ranks - ranks.mean(axis=-1, keepdims=True)
