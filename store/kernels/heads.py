"""Comparison of heads: divergence in one model and between two, partners, stress of a map, labels, nearest heads, order (Clark 2019)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from store.kernels import AnyArray, as_float, namespace
from store.kernels.bias import EVERY_KEY, Mask
from store.kernels.statistics import even_entropies

#: Share of each row that is spread evenly over the keys, as in Clark's code, so that no weight is 0.
SMOOTHING = 0.001
#: Weights of a head that are processed together: with the weights of all other heads they fit into the cache of a core.
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


def divergence_between(patterns: AnyArray, others: AnyArray, *, tile: int = TILE) -> AnyArray:
    """Jensen-Shannon divergence of each head from each head of another model, sum over queries; see `divergence_sums`.

    Parameters
    ----------
    patterns, others
        (head, ..., query_token, key_token) and (other_head, ..., query_token, key_token): the same tokens, rows that sum
        to 1, no padding. The models may have different numbers of heads.
    tile
        Weights of a head that are processed together.

    Returns
    -------
    (head, other_head) in nats, in the dtype of `patterns`.
    """
    own, other = (smoothed(each).reshape(len(each), -1) for each in (patterns, others))
    bits = as_float(np.zeros((len(own), len(other))), like=own)
    for first in range(0, own.shape[1], tile):
        bits += _between(own[:, first : first + tile], other[:, first : first + tile])
    return namespace(bits).clip(bits, 0, None) * LARGEST_DIVERGENCE


def partners(divergence: ArrayLike) -> NDArray[np.intp]:
    """Partner of each head among other heads, with the least sum of divergences (Hungarian assignment, Kuhn 1955).

    Parameters
    ----------
    divergence
        (head, other_head).

    Returns
    -------
    (head,), each other head at most once; -1 for heads without a partner, where there are more heads than other heads.
    """
    from scipy.optimize import linear_sum_assignment

    costs = np.asarray(divergence, np.float64)
    chosen = np.full(len(costs), -1, np.intp)
    heads, others = linear_sum_assignment(costs)
    chosen[heads] = others
    return chosen


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
    """Divergence in bits (head, head) of each head of weights (head, weight) from later heads; 0 elsewhere."""
    own, halves = _negative_entropy(weights), weights / 2
    bits = as_float(np.zeros((len(weights), len(weights))), like=weights)
    for head in range(len(weights) - 1):
        mixed = _negative_entropy(halves[head + 1 :] + halves[head])
        bits[head, head + 1 :] = (own[head + 1 :] + own[head]) / 2 - mixed
    return bits


def _between(own: AnyArray, other: AnyArray) -> AnyArray:
    """Divergence in bits (head, other_head) of weights (head, weight) and (other_head, weight)."""
    means = (_negative_entropy(own)[:, None] + _negative_entropy(other)[None, :]) / 2
    bits, halves = as_float(np.zeros((len(own), len(other))), like=own), other / 2
    for head in range(len(own)):
        bits[head] = means[head] - _negative_entropy(halves + own[head] / 2)
    return bits


def _row_negentropy(weights: AnyArray) -> AnyArray:
    """Sum over keys of w log2 w (..., query_token) over (..., query_token, key_token)."""
    return (weights * namespace(weights).log2(weights)).sum(axis=-1)


def _negative_entropy(weights: AnyArray) -> AnyArray:
    """Sum of w log2 w (head) over (head, weight). In bits: log2 is numpy's fastest logarithm."""
    xp = namespace(weights)
    return xp.einsum("hw,hw->h", weights, xp.log2(weights))


#: A head is broad above this share of the entropy of uniform attention: Clark's 3.8 nats, of 4.78 for their texts.
BROAD = 0.795
#: Label -> its statistic and threshold, as a share of the largest possible value in the sentences.
THRESHOLDS: Mapping[str, tuple[str, float]] = {
    "next": ("to_next", 0.5),
    "previous": ("to_previous", 0.5),
    "self": ("to_self", 0.5),
    "broad": ("entropy", BROAD),
    "[CLS]": ("to_cls", 0.6),
    "[SEP]": ("to_sep", 0.6),
    "punctuation": ("to_punctuation", 0.6),
}
#: Label -> its rule, in Clark's order: where several rules hold, the last counts.
LABELS: Mapping[str, str] = {
    "next": "more than 50% of its attention goes to the next token, the last token is not counted: nothing follows it",
    "previous": "more than 50% of its attention goes to the previous token, the first token is not counted: nothing precedes it",
    "self": "more than 50% of its attention goes to the token itself",
    "broad": f"its entropy is above {100 * BROAD:g}% of that of uniform attention",
    "[CLS]": "more than 60% of its attention goes to [CLS]",
    "[SEP]": "more than 60% of its attention goes to [SEP]",
    "punctuation": "more than 60% of its attention goes to full stops and commas",
}


class NearHead(NamedTuple):
    """A head and its divergence from a given head in nats per token."""

    layer: int
    head: int
    divergence: float


def head_labels(
    head_statistic: AnyArray, lengths: NDArray[np.integer], masks: Sequence[Mask] = (EVERY_KEY,)
) -> AnyArray:
    """Label of each head, by the rules of `LABELS` (Clark et al. 2019, General_Analysis).

    Parameters
    ----------
    head_statistic
        DataArray (source, statistic, layer, head), of which the source `all` is used.
    lengths
        Tokens of each sentence (sentence,): in short sentences entropy is smaller, and more queries lack a neighbour.
    masks
        Masks of the layers, or one mask for all.

    Returns
    -------
    DataArray (layer, head), "" where no rule holds.
    """
    neighbours, uniform = float((1 - 1 / lengths).mean()), even_entropies(lengths, masks)[:, None]
    largest: dict[str, Any] = {"to_next": neighbours, "to_previous": neighbours, "entropy": uniform}
    means = head_statistic.sel(source="all", drop=True)
    entropy = means.sel(statistic="entropy", drop=True)
    labels = np.full(entropy.shape, "", dtype="U11")
    for label, (statistic, threshold) in THRESHOLDS.items():
        labels[means.sel(statistic=statistic).values > threshold * largest.get(statistic, 1)] = label
    return entropy.copy(data=labels).drop_attrs().drop_encoding().rename("head_label")


def nearest_heads(mean_divergence: ArrayLike, layer: int, head: int, count: int) -> list[NearHead]:
    """Heads with the smallest divergence from a head, nearest first; ties by layer and head.

    Parameters
    ----------
    mean_divergence
        (layer, head, other_layer, other_head), nats per token.
    layer, head
        The given head, 0-based.
    count
        Number of heads; fewer where the model has fewer.
    """
    divergence = np.array(np.asarray(mean_divergence)[layer, head], np.float64)
    divergence[layer, head] = np.inf
    nearest = np.argsort(divergence, axis=None, kind="stable")[: min(count, divergence.size - 1)]
    layers, heads = np.unravel_index(nearest, divergence.shape)
    return [
        NearHead(int(first), int(second), float(divergence[first, second]))
        for first, second in zip(layers, heads, strict=True)
    ]


def clustered_order(mean_divergence: ArrayLike) -> NDArray[np.intp]:
    """Order of all heads in which similar heads stand together.

    Average linkage, with leaves ordered so that neighbours are as near as possible (Bar-Joseph et al. 2001).

    Parameters
    ----------
    mean_divergence
        (layer, head, other_layer, other_head), nats per token.

    Returns
    -------
    Indices (head,) of the heads counted layer by layer.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    divergence = np.asarray(mean_divergence)
    heads = divergence.shape[0] * divergence.shape[1]
    if heads == 1:
        return np.zeros(1, np.intp)
    pairs = squareform(divergence.reshape(heads, heads), checks=False)
    return np.asarray(leaves_list(linkage(pairs, "average", optimal_ordering=True)), np.intp)
