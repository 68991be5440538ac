"""Fidelity of a picture: whether distance on screen agrees with attention. numpy, scipy and scikit-learn."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
#: Neighbours that trustworthiness compares.
NEIGHBOURS = 10


def screen_distance(query: Floats, key: Floats) -> Floats:
    """Euclidean distance of each query to each key: (..., query_token, key_token) from (..., token, component)."""
    return np.sqrt(_squared_distance(query, key))


def _squared_distance(query: Floats, key: Floats) -> Floats:
    """Component by component: all differences at once would be several times as much memory."""
    square: Floats = np.zeros((*query.shape[:-1], key.shape[-2]), query.dtype)
    for component in range(query.shape[-1]):
        difference = query[..., :, None, component] - key[..., None, :, component]
        square += difference * difference
    return square


def cosine_distance(query: Floats, key: Floats) -> Floats:
    """Cosine distance 1 - cos(q, k): (..., query_token, key_token) from (..., token, channel)."""
    norms = [np.linalg.norm(vectors, axis=-1) for vectors in (query, key)]
    lengths = norms[0][..., :, None] * norms[1][..., None, :]
    return 1 - query @ np.swapaxes(key, -1, -2) / np.where(lengths > 0, lengths, 1)


def centred_ranks(values: Floats) -> Floats:
    """Ranks along the last axis, equal values with their mean rank, minus their mean and divided by their length, else 0."""
    order = np.argsort(values, axis=-1)  # not stable, which takes several times as long
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, np.arange(values.shape[-1], dtype=float), axis=-1)
    ascending = np.take_along_axis(values, order, axis=-1)
    tied = (ascending[..., 1:] == ascending[..., :-1]).any(axis=-1)
    if tied.any():
        from scipy.stats import rankdata

        ranks[tied] = rankdata(values[tied], axis=-1) - 1
    ranks -= ranks.mean(axis=-1, keepdims=True)
    length = np.sqrt((ranks * ranks).sum(axis=-1, keepdims=True))
    return np.divide(ranks, length, out=np.zeros_like(ranks), where=length > 0)


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
    correlation: Floats = (centred_ranks(pattern) * centred_ranks(distance)).sum(axis=-1).mean(axis=-1)
    return correlation


def recall(pattern: Floats, distance: Floats, *, k: int) -> Floats:
    """Share of the k keys with the largest weights that are among the k nearest on screen, mean over queries.

    Of a query with weights above 0 for fewer than k keys, as one that does not see more, it is that of so many.

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
    near = np.argsort(distance, axis=-1)[..., :k]
    most = np.minimum((pattern > 0).sum(axis=-1), k)
    counted = np.arange(attended.shape[-1]) < most[..., None]
    both = counted[..., :, None] & counted[..., None, :] & (attended[..., :, None] == near[..., None, :])
    found: Floats = (both.sum(axis=(-2, -1)) / most).mean(axis=-1)
    return found


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
    from sklearn.metrics import pairwise_distances

    count = compared_neighbours(len(places))
    if not count:
        return float("nan")
    distance, square = pairwise_distances(points, metric=metric), _squared_distance(places, places)
    np.fill_diagonal(distance, -np.inf)
    np.fill_diagonal(square, np.inf)
    near = np.argpartition(square, count - 1, axis=1)[:, :count]
    # How many are nearer, itself among them: no order of all neighbours is needed.
    ranks = np.stack([(distance < np.take_along_axis(distance, own[:, None], 1)).sum(axis=1) for own in near.T])
    return trust_of_excess(np.clip(ranks - count, 0, None).sum(), points=len(places))


def compared_neighbours(points: int) -> int:
    """Neighbours of each of so many points that trustworthiness compares; 0 where there are too few points."""
    return max(0, min(NEIGHBOURS, (points - 1) // 2))


def trust_of_excess(excess: float, *, points: int) -> float:
    """Trustworthiness of so many points from the sum by which the ranks of their neighbours on screen are too high."""
    count = compared_neighbours(points)
    return float(1 - excess / (points * count * (2 * points - 3 * count - 1) / 2))
