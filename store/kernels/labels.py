"""Labels of heads by the thresholds of Clark et al. 2019, nearest heads, and an order that groups similar heads."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from store.kernels import AnyArray

#: A head is broad above this share of the entropy of uniform attention: Clark's 3.8 nats of 4.78 in their texts.
BROAD = 0.795
#: Statistic and threshold of each label, as a share of the largest possible value in the sentences.
THRESHOLDS: Mapping[str, tuple[str, float]] = {
    "next": ("to_next", 0.5),
    "previous": ("to_previous", 0.5),
    "self": ("to_self", 0.5),
    "broad": ("entropy", BROAD),
    "[CLS]": ("to_cls", 0.6),
    "[SEP]": ("to_sep", 0.6),
    "punctuation": ("to_punctuation", 0.6),
}
#: Labels with their rules, in Clark's order: where several hold, the last counts.
LABELS: Mapping[str, str] = {
    "next": "more than 50% of its attention goes to the next token, the last token left out as it has none",
    "previous": "more than 50% of its attention goes to the previous token, the first token left out as it has none",
    "self": "more than 50% of its attention goes to the token itself",
    "broad": f"its entropy is above {100 * BROAD:g}% of that of uniform attention",
    "[CLS]": "more than 60% of its attention goes to [CLS]",
    "[SEP]": "more than 60% of its attention goes to [SEP]",
    "punctuation": "more than 60% of its attention goes to full stops and commas",
}


class NearHead(NamedTuple):
    """A head and its divergence from another in nats per token."""

    layer: int
    head: int
    divergence: float


def head_labels(head_statistic: AnyArray, lengths: NDArray[np.integer]) -> AnyArray:
    """Label of each head, by the rules of `LABELS` (Clark et al. 2019, General_Analysis).

    Parameters
    ----------
    head_statistic
        DataArray (source, statistic, layer, head), of which the source `all` is used.
    lengths
        Tokens of each sentence (sentence,): in short sentences entropy is smaller, and more queries lack a neighbour.

    Returns
    -------
    DataArray (layer, head), "" where no rule holds.
    """
    neighbours, uniform = float((1 - 1 / lengths).mean()), float(np.log(lengths).mean())
    largest = {"to_next": neighbours, "to_previous": neighbours, "entropy": uniform}
    means = head_statistic.sel(source="all", drop=True)
    entropy = means.sel(statistic="entropy", drop=True)
    labels = np.full(entropy.shape, "", dtype="U11")
    for label, (statistic, threshold) in THRESHOLDS.items():
        labels[means.sel(statistic=statistic).values > threshold * largest.get(statistic, 1)] = label
    return entropy.copy(data=labels).drop_attrs().drop_encoding().rename("head_label")


def nearest_heads(mean_divergence: ArrayLike, layer: int, head: int, count: int) -> list[NearHead]:
    """Heads with the smallest divergence from one head, nearest first, of equal ones the first.

    Parameters
    ----------
    mean_divergence
        (layer, head, other_layer, other_head), nats per token.
    layer, head
        The one head, 0-based.
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
