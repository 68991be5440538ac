"""Means of tokens by class, such as their wordpiece: over sentences of the mean over the tokens of the class, with 95% intervals and t tests.

Sentences weigh equally; sentences without a token of a class do not count for it. Intervals are by the bootstrap over sentences of
`intervals`: a sentence has the same draws for every class, so that differences between classes and parts are paired.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from store.kernels.intervals import PERCENTILES, REPLICATES, draw_counts

#: Number of sentences whose draws are made together: a sentence's draws do not depend on the number of later sentences.
TOGETHER = 4096
Floats = NDArray[np.floating]
#: Draws of each sentence in each replicate: (sentence, replicate).
Counts = NDArray[np.uint8]
#: Called with the finished share, 0 to 1; an error that it raises ends the computation.
Watch = Callable[[float], None]


class ClassMeans(NamedTuple):
    """Mean, or sum, of numbers over the tokens of each class in each sentence with such a token.

    Attributes
    ----------
    classes
        Codes of the classes, ascending: (class,).
    tokens
        Number of tokens of each class: (class,).
    ends
        Places where the values of each class begin and end: (class + 1,).
    sentence
        Sentence of each value: (value,).
    values
        (number, value) in float64.
    within
        Sentences that count for every class, with 0 where they have no token of it: (sentence,). None: only sentences with one.
    """

    classes: NDArray[np.int64]
    tokens: NDArray[np.int64]
    ends: NDArray[np.int64]
    sentence: NDArray[np.int64]
    values: NDArray[np.float64]
    within: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        values: Floats,
        codes: NDArray[np.integer],
        sentence: NDArray[np.integer],
        within: NDArray[np.int64] | None = None,
    ) -> "ClassMeans":
        """Summarise values (number, token) by the class of each token, negative for none, and its sentence: (token,) each.

        Means over the tokens of a class in a sentence; sums if `within` is given.
        """
        kept = np.flatnonzero((codes >= 0) & np.isfinite(values).all(axis=0))
        order = kept[np.lexsort((sentence[kept], codes[kept]))]
        own, of = codes[order].astype(np.int64), sentence[order].astype(np.int64)
        begins = np.flatnonzero((np.diff(own, prepend=-1) != 0) | (np.diff(of, prepend=-1) != 0))
        sizes = np.diff(np.append(begins, len(order)))
        sums = np.zeros((len(values), len(begins)))
        if len(order):
            sums = np.add.reduceat(values[:, order], begins, axis=1, dtype=np.float64)
        classes, first, counts = np.unique(own[begins], return_index=True, return_counts=True)
        tokens = np.add.reduceat(sizes, first) if len(first) else counts
        means = sums if within is not None else sums / np.maximum(sizes, 1)
        return cls(classes, tokens, np.append(first, len(begins)), of[begins], means, within)

    @property
    def sentences(self) -> NDArray[np.int64]:
        """Number of sentences with a token of each class: (class,)."""
        return np.diff(self.ends)

    @property
    def counted(self) -> NDArray[np.int64]:
        """Number of sentences that count for each class: (class,)."""
        return self.sentences if self.within is None else np.full(len(self.classes), len(self.within))

    def only(self, chosen: NDArray[np.bool_]) -> "ClassMeans":
        """The numbers of chosen classes; `chosen` (class,)."""
        places = [np.arange(*ends) for ends in np.stack([self.ends[:-1], self.ends[1:]], axis=1)[chosen]]
        kept = np.concatenate([np.zeros(0, np.int64), *places])
        ends = np.append(0, np.cumsum(self.sentences[chosen]))
        values = self.values[:, kept]
        return ClassMeans(self.classes[chosen], self.tokens[chosen], ends, self.sentence[kept], values, self.within)

    def aligned(self, classes: NDArray[np.int64]) -> "ClassMeans":
        """The numbers of some ascending classes; classes that are missing here get no sentences."""
        own = self.only(np.isin(self.classes, classes))
        place = np.searchsorted(classes, own.classes)
        sizes, tokens = np.zeros((2, len(classes)), np.int64)
        sizes[place], tokens[place] = own.sentences, own.tokens
        return own._replace(classes=classes, tokens=tokens, ends=np.append(0, np.cumsum(sizes)))

    def mean(self) -> NDArray[np.float64]:
        """Means over sentences: (number, class); NaN where no sentence counts."""
        return self._sums(self.values) / np.where(self.counted > 0, self.counted, np.nan)

    def squared_error(self) -> NDArray[np.float64]:
        """Square of the standard error of each mean: (number, class); NaN where fewer than two sentences count."""
        mean, counted = self.mean(), self.counted
        squares = self._sums((self.values - np.repeat(mean, self.sentences, axis=1)) ** 2)
        squares += mean**2 * (counted - self.sentences)
        return squares / np.where(counted > 1, counted - 1, np.nan) / np.maximum(counted, 1)

    def replicates(self, counts: Counts, place: int) -> NDArray[np.float32]:
        """Means of one class in the replicates of the bootstrap: (number, replicate); NaN where none of its sentences counts."""
        own = slice(int(self.ends[place]), int(self.ends[place + 1]))
        sums, drawn = np.zeros((len(self.values), counts.shape[1])), np.zeros(counts.shape[1])
        for start in range(own.start, own.stop, TOGETHER):
            part = slice(start, min(start + TOGETHER, own.stop))
            times = counts[self.sentence[part]].astype(np.float32)
            sums += self.values[:, part].astype(np.float32) @ times
            drawn += times.sum(axis=0)
        if self.within is not None:
            drawn = counts[self.within].sum(axis=0, dtype=np.float64)
        means: NDArray[np.float32] = (sums / np.where(drawn > 0, drawn, np.nan)).astype(np.float32)
        return means

    def interval(
        self, counts: Counts, places: NDArray[np.intp] | None = None, watch: Watch = lambda _: None
    ) -> NDArray[np.float64]:
        """95% intervals of the means of all classes, or of classes at some places: (bound, number, class).

        NaN elsewhere, and where fewer than two sentences count.
        """
        bounds = np.full((len(PERCENTILES), len(self.values), len(self.classes)), np.nan)
        chosen = np.arange(len(self.classes)) if places is None else places
        for number, place in enumerate(chosen.tolist()):
            watch(number / len(chosen))
            if self.counted[place] > 1:
                bounds[..., place] = _percentiles(self.replicates(counts, place))
        return bounds

    def _sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums (number, class) of numbers of each value."""
        sums = np.zeros((len(values), len(self.classes)))
        some = self.sentences > 0  # `reduceat` would give a class without sentences the number of the next class
        if some.any():
            sums[:, some] = np.add.reduceat(values, self.ends[:-1][some], axis=1)
        return sums


def compared_intervals(
    own: ClassMeans,
    other: ClassMeans,
    counts: Counts,
    places: NDArray[np.intp] | None = None,
    watch: Watch = lambda _: None,
) -> NDArray[np.float64]:
    """95% intervals of the means of two parts with the same classes and of their difference: (3, bound, number, class).

    For all classes, or classes at some places; NaN elsewhere, and where fewer than two sentences count.
    """
    bounds = np.full((3, len(PERCENTILES), len(own.values), len(own.classes)), np.nan)
    chosen = np.arange(len(own.classes)) if places is None else places
    for at, place in enumerate(chosen.tolist()):
        watch(at / len(chosen))
        both = [each.replicates(counts, place) for each in (own, other)]
        counted = [int(each.counted[place]) for each in (own, other)]
        numbers = ((both[0], counted[0]), (both[1], counted[1]), (both[0] - both[1], min(counted)))
        for number, (means, sentences) in enumerate(numbers):
            if sentences > 1:
                bounds[number, ..., place] = _percentiles(means)
    return bounds


def _percentiles(means: NDArray[np.float32]) -> NDArray[np.float64]:
    """Ends of the intervals (bound, number) of means in replicates (number, replicate), without replicates with NaN."""
    drawn = ~np.isnan(means[0])
    return np.percentile(means if drawn.all() else means[:, drawn], PERCENTILES, axis=-1)


def sentence_counts(seed: int, sentences: int) -> Counts:
    """Draws of each sentence in each replicate of the bootstrap, from Poisson(1): (sentence, replicate)."""
    starts = range(0, sentences, TOGETHER)
    parts = [draw_counts(seed, block, min(TOGETHER, sentences - start)) for block, start in enumerate(starts)]
    return np.concatenate([np.zeros((0, REPLICATES)), *parts]).astype(np.uint8)


def mean_test(own: ClassMeans) -> NDArray[np.float64]:
    """Two-sided p of a t test over sentences of whether each mean is 0: (number, class); NaN where fewer than two sentences count."""
    return _two_sided(own.mean(), own.squared_error(), own.counted - 1)


def welch_test(own: ClassMeans, other: ClassMeans) -> NDArray[np.float64]:
    """Two-sided p of Welch's t test over sentences of whether two means of the same classes differ: (number, class).

    NaN where fewer than two sentences count in either part (Welch 1947).
    """
    first, second = own.squared_error(), other.squared_error()
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = (first + second) ** 2 / (first**2 / (own.counted - 1) + second**2 / (other.counted - 1))
    return _two_sided(own.mean() - other.mean(), first + second, freedom)


def _two_sided(
    mean: NDArray[np.float64], squared_error: NDArray[np.float64], freedom: NDArray[np.number]
) -> NDArray[np.float64]:
    from scipy.special import stdtr  # scipy.stats takes most of a second to import, and 60 MB of a worker

    error = np.sqrt(squared_error)
    infinite = np.where(mean == 0, 0.0, np.inf)
    distance = np.divide(np.abs(mean), error, out=np.broadcast_to(infinite, mean.shape).copy(), where=error > 0)
    p = 2 * stdtr(np.nan_to_num(np.broadcast_to(freedom, mean.shape), nan=1.0), -distance)
    return np.where(np.isfinite(squared_error), p, np.nan)
