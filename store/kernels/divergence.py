"""Divergence between the attention of two heads, and the stress of a map of the heads (Clark et al. 2019, section 6)."""

import numpy as np
from numpy.typing import NDArray

from store.kernels import AnyArray, as_float, namespace

#: Share of each row that is spread evenly over the keys, as in Clark's code, so that no weight is 0.
SMOOTHING = 0.001
#: Weights of a head that are processed together: with those of all other heads they fit into the cache of a core.
TILE = 4096
#: Largest possible divergence of two rows, in nats.
LARGEST_DIVERGENCE = float(np.log(2))


def divergence_sums(patterns: AnyArray, *, tile: int = TILE) -> AnyArray:
    """Jensen-Shannon divergence of each pair of heads in nats, sum over queries.

    With p' = 0.001 / keys + 0.999 p and m = (p' + q') / 2, a query adds the sum over its keys of
    (p' ln p' + q' ln q') / 2 - m ln m, at most ln 2; no square root (Clark et al. 2019, head_distances.py).

    Parameters
    ----------
    patterns
        (head, ..., query_token, key_token): heads of all layers, rows that sum to 1, no padding.
    tile
        Weights of a head that are processed together.

    Returns
    -------
    (head, other_head), symmetric, 0 on the diagonal, in the dtype of `patterns`.
    """
    weights = smoothed(patterns).reshape(len(patterns), -1)
    bits = as_float(np.zeros((len(weights), len(weights))), like=weights)
    for first in range(0, weights.shape[1], tile):
        bits += _above_diagonal(weights[:, first : first + tile])
    return namespace(bits).clip(bits + bits.T, 0, None) * LARGEST_DIVERGENCE


def row_divergence(patterns: AnyArray, others: AnyArray) -> AnyArray:
    """Jensen-Shannon divergence of each row from its counterpart in nats, smoothed as in `divergence_sums`.

    Parameters
    ----------
    patterns, others
        (..., query_token, key_token), rows that sum to 1, no padding.

    Returns
    -------
    (..., query_token), 0 to ln 2.
    """
    own, other = smoothed(patterns), smoothed(others)
    bits = (_row_negentropy(own) + _row_negentropy(other)) / 2 - _row_negentropy((own + other) / 2)
    return namespace(bits).clip(bits, 0, None) * LARGEST_DIVERGENCE


def smoothed(patterns: AnyArray) -> AnyArray:
    """Rows (..., key_token) mixed with 0.001 of uniform attention (Clark et al. 2019, head_distances.py)."""
    return SMOOTHING / patterns.shape[-1] + (1 - SMOOTHING) * patterns


def map_stress(divergence: NDArray[np.floating], place: NDArray[np.floating]) -> float:
    """Kruskal's stress-1 of a map: 0 is perfect, 0.1 fair, 0.2 poor (Kruskal 1964).

    sqrt(sum of (distance - divergence)^2 / sum of distance^2) over pairs of heads; 0 where all heads coincide.

    Parameters
    ----------
    divergence
        (head, other_head), symmetric.
    place
        Positions of the heads on the map: (head, component).
    """
    distance = np.sqrt(((place[:, None] - place[None, :]) ** 2).sum(axis=-1))
    square = (distance**2).sum()
    return float(np.sqrt(((distance - divergence) ** 2).sum() / square)) if square > 0 else 0.0


def _above_diagonal(weights: AnyArray) -> AnyArray:
    """Divergence in bits of each head (head, weight) from the heads after it; 0 elsewhere."""
    own, halves = _negative_entropy(weights), weights / 2
    bits = as_float(np.zeros((len(weights), len(weights))), like=weights)
    for head in range(len(weights) - 1):
        mixed = _negative_entropy(halves[head + 1 :] + halves[head])
        bits[head, head + 1 :] = (own[head + 1 :] + own[head]) / 2 - mixed
    return bits


def _row_negentropy(weights: AnyArray) -> AnyArray:
    """Sum over keys of w log2 w (..., query_token) over (..., query_token, key_token)."""
    return (weights * namespace(weights).log2(weights)).sum(axis=-1)


def _negative_entropy(weights: AnyArray) -> AnyArray:
    """Sum of w log2 w (head) over (head, weight). In bits: log2 is numpy's fastest logarithm."""
    xp = namespace(weights)
    return xp.einsum("hw,hw->h", weights, xp.log2(weights))
