"""What a head is, in a word: labels by Clark et al.'s thresholds, the heads nearest to one, an order of all of them."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from store.kernels import AnyArray

#: A head is broad above this share of the entropy of uniform attention: Clark's 3.8 nats of the 4.78 of their texts.
BROAD = 0.795
#: Statistic of every label and its threshold, as a share of the most that it can be in the sentences.
THRESHOLDS: Mapping[str, tuple[str, float]] = {
    "next": ("to_next", 0.5),
    "previous": ("to_previous", 0.5),
    "self": ("to_self", 0.5),
    "broad": ("entropy", BROAD),
    "[CLS]": ("to_cls", 0.6),
    "[SEP]": ("to_sep", 0.6),
    "punctuation": ("to_punctuation", 0.6),
}
#: Every label and its rule for a person, in Clark's order: where more than one holds the last counts.
LABELS: Mapping[str, str] = {
    "next": "more than 50 % of its attention goes to the next token, the last token left out as it has none",
    "previous": "more than 50 % of its attention goes to the previous token, the first token left out as it has none",
    "self": "more than 50 % of its attention goes to the token itself",
    "broad": f"its entropy is above {100 * BROAD:g} % of that of uniform attention",
    "[CLS]": "more than 60 % of its attention goes to [CLS]",
    "[SEP]": "more than 60 % of its attention goes to [SEP]",
    "punctuation": "more than 60 % of its attention goes to . and ,",
}


class NearHead(NamedTuple):
    """A head and its divergence from another, nats a token."""

    layer: int
    head: int
    divergence: float


def head_labels(head_statistic: AnyArray, lengths: NDArray[np.integer]) -> AnyArray:
    """The label of every head (layer, head), "" where no rule of `LABELS` holds (Clark et al. 2019, General_Analysis).

    Parameters
    ----------
    head_statistic
        Means (source, statistic, layer, head), a labelled DataArray; those over all rows count.
    lengths
        Tokens of every sentence (sentence,): in short ones entropy is less, and more rows lack a neighbour.
    """
    neighbours, uniform = float((1 - 1 / lengths).mean()), float(np.log(lengths).mean())
    most = {"to_next": neighbours, "to_previous": neighbours, "entropy": uniform}
    means = head_statistic.sel(source="all", drop=True)
    entropy = means.sel(statistic="entropy", drop=True)
    labels = np.full(entropy.shape, "", dtype="U11")
    for label, (statistic, threshold) in THRESHOLDS.items():
        labels[means.sel(statistic=statistic).values > threshold * most.get(statistic, 1)] = label
    return entropy.copy(data=labels).drop_attrs().rename("head_label")


def nearest_heads(mean_divergence: ArrayLike, layer: int, head: int, count: int) -> list[NearHead]:
    """The `count` heads of least divergence from one, the nearest first, of equal ones the first; fewer where there are fewer.

    `mean_divergence` is (layer, head, other_layer, other_head).
    """
    divergence = np.array(np.asarray(mean_divergence)[layer, head], np.float64)
    divergence[layer, head] = np.inf
    nearest = np.argsort(divergence, axis=None, kind="stable")[: min(count, divergence.size - 1)]
    layers, heads = np.unravel_index(nearest, divergence.shape)
    return [NearHead(int(one), int(two), float(divergence[one, two])) for one, two in zip(layers, heads, strict=True)]


def clustered_order(mean_divergence: ArrayLike) -> NDArray[np.intp]:
    """An order in which like heads stand together: places (head,) of the heads counted layer by layer.

    Average linkage, the leaves ordered so that neighbours are as near as they can be (Bar-Joseph et al. 2001).
    `mean_divergence` is (layer, head, other_layer, other_head).
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    four = np.asarray(mean_divergence)
    heads = four.shape[0] * four.shape[1]
    if heads == 1:
        return np.zeros(1, np.intp)
    pairs = squareform(four.reshape(heads, heads), checks=False)
    return np.asarray(leaves_list(linkage(pairs, "average", optimal_ordering=True)), np.intp)
