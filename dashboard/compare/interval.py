"""A mean over sentences with its 95 % interval, by the bootstrap that the store's own intervals are from."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from store.kernels.bootstrap import PERCENTILES, draw_counts

#: Which draws: the same at every call, so that a number shown twice is the same number.
SEED = 0
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeanInterval:
    """Means and the ends of their intervals, all of one shape; NaN ends where there are fewer than two sentences."""

    mean: Floats
    low: Floats
    high: Floats


def mean_interval(values: NDArray[np.floating]) -> MeanInterval:
    """Of numbers (sentence, ...), each sentence weighs the same: a difference of two models is paired in every sentence.

    Percentiles of the means of replicates in which a sentence counts as often as Poisson(1) says
    (`store.kernels.bootstrap`).
    """
    sentences, *shape = values.shape
    none = np.full(shape, np.nan)
    if not sentences:
        return MeanInterval(none, none, none)
    flat = values.reshape(sentences, -1).astype(np.float64)
    low, high = (end.reshape(shape) for end in _ends(flat)) if sentences > 1 else (none, none)
    return MeanInterval(flat.mean(axis=0).reshape(shape), low, high)


def _ends(flat: Floats) -> tuple[Floats, Floats]:
    """(number,) of numbers (sentence, number)."""
    counts = draw_counts(SEED, 0, len(flat)).astype(np.float64)
    total = counts.sum(axis=0)
    means = (counts.T @ flat)[total > 0] / total[total > 0, None]
    low, high = np.percentile(means, PERCENTILES, axis=0)
    return low, high
