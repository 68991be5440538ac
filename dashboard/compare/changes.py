"""The heads that changed most from one model to another, and what about each."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.compare.difference import Difference, difference, difference_of
from dashboard.compare.divergence import counterpart_divergence
from dashboard.compare.interval import MeanInterval, mean_interval
from dashboard.compare.kept import is_kept, kept
from dashboard.compare.two import Two
from dashboard.statistics.definitions import telling

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Changes:
    """Of every head (layer, head), against the head of the same layer and number in the other model.

    Attributes
    ----------
    divergence
        Mean Jensen-Shannon divergence in nats, sentences weigh the same.
    difference
        Of the chosen statistic.
    most
        Name of the statistic that changed most, of all tokens' rows: by its difference over its standard deviation among
        the heads of this model, so that shares, nats and tokens compare. It is chosen by the means over all sentences of
        each model.
    most_difference
        Of that statistic of each head.
    labels
        In this model and in the other: (2, layer, head), empty where there is none.
    """

    divergence: MeanInterval
    difference: Difference
    most: NDArray[np.object_]
    most_difference: Difference
    labels: NDArray[np.object_]


def changes(two: Two, statistic: str, source: str) -> Changes:
    """What changed, of models with as many layers and heads."""
    divergence = kept(two, "divergence intervals", lambda: mean_interval(counterpart_divergence(two)))
    most = most_changed(two)
    of_most = kept(two, "most changed", lambda: difference_of(two, most, "all"))
    labels = np.stack([one.head_labels.values.astype(object) for one in (two.own, two.other)])
    return Changes(divergence, difference(two, statistic, source), most, of_most, labels)


def changes_are_kept(two: Two, statistic: str, source: str) -> bool:
    """Whether all of it has been counted."""
    return all(
        is_kept(two, what) for what in ("divergence intervals", "most changed", ("difference", statistic, source))
    )


def ranked_heads(found: Changes, by: str) -> list[tuple[int, int]]:
    """Every head, the one that changed most first; those without a number last."""
    size = found.divergence.mean if by == "divergence" else np.abs(found.difference.less.mean)
    order = np.argsort(-np.nan_to_num(size, nan=-np.inf), axis=None, kind="stable")
    return [(int(layer), int(head)) for layer, head in zip(*np.unravel_index(order, size.shape), strict=True)]


def most_changed(two: Two) -> NDArray[np.object_]:
    """Name of a statistic of each head (layer, head): see `Changes`."""
    names = telling("all")
    own, other = (one.head_statistic.sel(source="all", statistic=names).values for one in (two.own, two.other))
    among = own.std(axis=(1, 2), keepdims=True)
    sizes = np.divide(np.abs(other - own), among, out=np.zeros_like(own), where=among > 0)
    return np.array(names, object)[sizes.argmax(axis=0)]
