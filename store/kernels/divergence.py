"""How far apart the attention of two heads is, and how well a map of the heads shows it (Clark et al. 2019, section 6)."""

import numpy as np
from numpy.typing import NDArray

from store.kernels import AnyArray, as_float, namespace

#: Share of every row that is spread evenly over the keys, as in Clark's code: no weight is 0 then.
SMOOTHING = 0.001
#: Weights of a head that are looked at together: with those of all other heads they fit into a core's cache.
TILE = 4096
#: The most by which two rows can diverge, in nats.
LARGEST_DIVERGENCE = float(np.log(2))


def divergence_sums(patterns: AnyArray, *, tile: int = TILE) -> AnyArray:
    """Jensen-Shannon divergence of every two heads, sum over the query rows: (head, other_head) in nats.

    With p' = 0.001 / keys + 0.999 p and m = (p' + q') / 2 a row adds the sum over its keys of
    (p' ln p' + q' ln q') / 2 - m ln m, at most ln 2; no square root (Clark et al. 2019, head_distances.py).

    Parameters
    ----------
    patterns
        (head, ..., query_token, key_token): heads of all layers, rows that sum to 1, no padding.
    tile
        Weights of a head that are looked at together.

    Returns
    -------
    Symmetric, 0 on the diagonal, in the dtype of `patterns`.
    """
    weights = smoothed(patterns).reshape(len(patterns), -1)
    bits = as_float(np.zeros((len(weights), len(weights))), like=weights)
    for first in range(0, weights.shape[1], tile):
        bits += _above_diagonal(weights[:, first : first + tile])
    return namespace(bits).clip(bits + bits.T, 0, None) * LARGEST_DIVERGENCE


def row_divergence(patterns: AnyArray, others: AnyArray) -> AnyArray:
    """Jensen-Shannon divergence of every row from its counterpart, in nats: (..., query_token), 0 to ln 2.

    Rows are smoothed as in `divergence_sums` (Clark et al. 2019, head_distances.py), so that the two agree.

    Parameters
    ----------
    patterns, others
        (..., query_token, key_token), rows that sum to 1, no padding.
    """
    own, other = smoothed(patterns), smoothed(others)
    bits = (_row_negentropy(own) + _row_negentropy(other)) / 2 - _row_negentropy((own + other) / 2)
    return namespace(bits).clip(bits, 0, None) * LARGEST_DIVERGENCE


def smoothed(patterns: AnyArray) -> AnyArray:
    """Rows (..., key_token) mixed with a thousandth of uniform attention."""
    return SMOOTHING / patterns.shape[-1] + (1 - SMOOTHING) * patterns


def map_stress(divergence: NDArray[np.floating], place: NDArray[np.floating]) -> float:
    """Kruskal's stress-1 of a map: 0 where its distances are the divergences, 0.1 is fair, 0.2 poor (Kruskal 1964).

    The root of the sum over pairs of (distance - divergence)^2 over the sum of distance^2; 0 where all is in one place.

    Parameters
    ----------
    divergence
        (head, other_head), symmetric.
    place
        (head, component).
    """
    distance = np.sqrt(((place[:, None] - place[None, :]) ** 2).sum(axis=-1))
    square = (distance**2).sum()
    return float(np.sqrt(((distance - divergence) ** 2).sum() / square)) if square > 0 else 0.0


def _above_diagonal(weights: AnyArray) -> AnyArray:
    """Divergence in bits of every head (head, weight) from those after it; 0 elsewhere."""
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
    """Sum of w log2 w (head) over (head, weight). In bits, as log2 is the fastest logarithm of numpy."""
    xp = namespace(weights)
    return xp.einsum("hw,hw->h", weights, xp.log2(weights))
