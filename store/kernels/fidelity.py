"""Fidelity of a picture: whether distance on screen agrees with attention. numpy, scipy and scikit-learn.

What does not depend on the picture is ranked once for all pictures: the keys of each query by attention (`RankedKeys`),
and the neighbours of each vector (`RankedNeighbours`).
"""

from typing import NamedTuple

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


class RankedKeys(NamedTuple):
    """The keys of each query ranked by attention.

    Attributes
    ----------
    centred
        Ranks minus their mean, divided by their length; 0 for a query whose weights are all equal: (..., query_token, key_token).
    attended
        The k keys with the largest weights, the largest first: (..., query_token, k).
    """

    centred: Floats
    attended: NDArray[np.int64]

    @classmethod
    def of(cls, pattern: Floats, *, k: int = 0) -> "RankedKeys":
        """From weights or logits (..., query_token, key_token)."""
        order = np.argsort(-pattern, axis=-1, kind="stable")
        return cls(-_centred_ranks(-pattern, order), order[..., :k])

    def agreement(self, distance: Floats) -> tuple[Floats, Floats]:
        """Spearman correlation with distances (..., query_token, key_token), and recall of the attended keys: (...,) each.

        See `spearman` and `recall`.
        """
        order = np.argsort(distance, axis=-1)  # not stable, which takes several times as long
        correlation = (self.centred * _centred_ranks(distance, order)).sum(axis=-1).mean(axis=-1)
        k = self.attended.shape[-1]
        if not k:
            return correlation, np.full_like(correlation, np.nan)
        both = (self.attended[..., :, None] == order[..., None, :k]).any(axis=-1)
        return correlation, both.mean(axis=(-2, -1))


def _centred_ranks(values: Floats, order: NDArray[np.int64]) -> Floats:
    """Ranks along the last axis, equal values with their mean rank, minus their mean and divided by their length, else 0."""
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
    return RankedKeys.of(pattern).agreement(distance)[0]


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
    return RankedKeys.of(pattern, k=k).agreement(distance)[1]


class RankedNeighbours(NamedTuple):
    """The rank of every vector among the neighbours of every other: (point, point), 1 is the nearest, 0 the point itself."""

    ranks: NDArray[np.int32]

    @classmethod
    def of(cls, points: Floats, *, metric: str = "cosine") -> "RankedNeighbours":
        """Of vectors (point, feature), by a distance as scikit-learn names it."""
        from sklearn.metrics import pairwise_distances

        distance = pairwise_distances(points, metric=metric)
        np.fill_diagonal(distance, -np.inf)
        ranks = np.empty(distance.shape, np.int32)
        np.put_along_axis(
            ranks,
            np.argsort(distance, axis=1),
            np.arange(len(points), dtype=np.int32)[None].repeat(len(points), 0),
            axis=1,
        )
        return cls(ranks)

    def trustworthiness(self, places: Floats) -> float:
        """Trustworthiness of their places on screen (point, component), as `trustworthy`."""
        points = len(places)
        neighbours = min(NEIGHBOURS, (points - 1) // 2)
        if neighbours < 1:
            return float("nan")
        square = _squared_distance(places, places)
        np.fill_diagonal(square, np.inf)
        near = np.argpartition(square, neighbours - 1, axis=1)[:, :neighbours]
        beyond = np.take_along_axis(self.ranks, near, axis=1) - neighbours
        worst = points * neighbours * (2 * points - 3 * neighbours - 1) / 2
        return float(1 - beyond[beyond > 0].sum() / worst)


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
    return RankedNeighbours.of(points, metric=metric).trustworthiness(places)
