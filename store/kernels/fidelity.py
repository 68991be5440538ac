"""Fidelity of a picture: whether distance on screen agrees with attention. numpy, scipy and scikit-learn."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
#: Neighbours that trustworthiness compares.
NEIGHBOURS = 10


def screen_distance(query: Floats, key: Floats) -> Floats:
    """Euclidean distance of each query to each key: (..., query_token, key_token) from (..., token, component)."""
    return np.sqrt(((query[..., :, None, :] - key[..., None, :, :]) ** 2).sum(axis=-1))


def cosine_distance(query: Floats, key: Floats) -> Floats:
    """Cosine distance 1 - cos(q, k): (..., query_token, key_token) from (..., token, channel)."""
    norms = [np.linalg.norm(vectors, axis=-1) for vectors in (query, key)]
    lengths = norms[0][..., :, None] * norms[1][..., None, :]
    return 1 - query @ np.swapaxes(key, -1, -2) / np.where(lengths > 0, lengths, 1)


def spearman(pattern: Floats, distance: Floats) -> Floats:
    """Spearman correlation of attention and distance over the keys of each query, mean over queries.

    -1 is a perfect picture: the nearer the key, the larger its weight (AttentionViz, section 5). Ties get mean ranks;
    a query with equal weights or equal distances counts as 0.

    Parameters
    ----------
    pattern, distance
        (..., query_token, key_token).

    Returns
    -------
    (...,), -1 to 1.
    """
    from scipy.stats import rankdata

    a, b = (_centred(rankdata(array, axis=-1)) for array in (pattern, distance))
    scale = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    return np.where(scale > 0, (a * b).sum(axis=-1) / np.where(scale > 0, scale, 1), 0).mean(axis=-1)


def recall(pattern: Floats, distance: Floats, *, k: int) -> Floats:
    """Share of the k keys with the largest weights that are among the k nearest on screen, mean over queries.

    Parameters
    ----------
    pattern, distance
        (..., query_token, key_token).
    k
        Number of keys.

    Returns
    -------
    (...,), 0 to 1.
    """
    attended = np.argsort(-pattern, axis=-1, kind="stable")[..., :k]
    nearest = np.argsort(distance, axis=-1, kind="stable")[..., :k]
    both = (attended[..., :, None] == nearest[..., None, :]).any(axis=-1)
    return both.mean(axis=(-2, -1))


def trustworthy(points: Floats, places: Floats, *, metric: str = "cosine") -> float:
    """Trustworthiness: whether neighbours on screen are neighbours among the vectors (Venna and Kaski 2001).

    Parameters
    ----------
    points
        Vectors, queries and keys together: (point, feature).
    places
        Their positions on screen: (point, component).
    metric
        Distance between vectors, as scikit-learn names it.

    Returns
    -------
    At most 1, which is best; NaN for fewer than three points.
    """
    from sklearn.manifold import trustworthiness

    neighbours = min(NEIGHBOURS, (len(points) - 1) // 2)
    if neighbours < 1:
        return float("nan")
    return float(trustworthiness(points, places, n_neighbors=neighbours, metric=metric))


def _centred(ranks: Floats) -> Floats:
    return ranks - ranks.mean(axis=-1, keepdims=True)
