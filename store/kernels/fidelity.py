"""How far a picture can be trusted: does the distance on screen tell what attention says? numpy only."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
#: Neighbours whose loss trustworthiness counts.
NEIGHBOURS = 10


def screen_distance(query: Floats, key: Floats) -> Floats:
    """Euclidean distance of every query to every key: (..., query_token, key_token) from (..., token, component)."""
    return np.sqrt(((query[..., :, None, :] - key[..., None, :, :]) ** 2).sum(axis=-1))


def cosine_distance(query: Floats, key: Floats) -> Floats:
    """1 - cosine of every query and every key: (..., query_token, key_token) from (..., token, channel)."""
    norms = [np.linalg.norm(vectors, axis=-1) for vectors in (query, key)]
    lengths = norms[0][..., :, None] * norms[1][..., None, :]
    return 1 - query @ np.swapaxes(key, -1, -2) / np.where(lengths > 0, lengths, 1)


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


def trustworthy(points: Floats, places: Floats, *, metric: str = "cosine") -> float:
    """Whether neighbours on screen are neighbours among the vectors (Venna and Kaski 2001), 1 is best; NaN for a few points.

    scikit-learn's measure of `points` (point, feature) by `metric` and `places` (point, component), queries and keys alike.
    """
    from sklearn.manifold import trustworthiness

    neighbours = min(NEIGHBOURS, (len(points) - 1) // 2)
    if neighbours < 1:
        return float("nan")
    return float(trustworthiness(points, places, n_neighbors=neighbours, metric=metric))


def _centred(ranks: Floats) -> Floats:
    return ranks - ranks.mean(axis=-1, keepdims=True)
