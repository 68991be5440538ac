"""Means over the rows of each sentence, and 95% intervals of means over sentences: by bootstrap, or from sums alone.

The bootstrap takes sentences that arrive one block at a time. In each replicate a sentence counts as often as a draw from
Poisson(1), independently of all others: sentences can be added as they come, and need not be stored (Chamandy et al. 2012,
"Estimating uncertainty for massive data streams", section 2). With many sentences this is Efron's bootstrap, whose counts
are multinomial.

From sums alone, where the statistics of the sentences are not stored: the variance of the mean over n sentences is the
variance of a sentence's mean, divided by n (the linearisation of a ratio of two sums, as n is itself drawn: Cochran 1977,
section 6.4). Such stores have so many sentences that the mean is normally distributed.

The mean of a sentence is over its rows of a source, for values of many heads at once. Sources overlap: a
word is a row of `all`, of `word` and of `other`. Rows of the same sources are summed once, and a source's sum is the total of such
sums. Summing each source by itself took three times as long.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from store.kernels import AnyArray, namespace

#: Number of replicates.
REPLICATES = 500
#: Percentiles of the ends of a 95% interval.
PERCENTILES = (2.5, 97.5)
#: Standard deviations on each side of the mean of a normal distribution that contain 95%.
DEVIATIONS = 1.959964
#: Most bytes of float32 values that are summed at once: they stay in the cache of a core.
AT_ONCE = 1 << 20
#: Conversion of float16 (exponent of 5 bits with a bias of 15) to float32 (8 bits, 127) by bits.
MANTISSA_SHIFT, EXPONENT_SHIFT, SMALLEST_INFINITE = np.uint32(13), np.float32(2.0 ** (127 - 15)), 0x7C00


class Segments(NamedTuple):
    """Rows of one source in consecutive sentences, some of which may have no such rows.

    Attributes
    ----------
    rows
        Ascending indices on the token axis: (row,).
    start, size
        Start among `rows`, and number of rows, of each sentence with rows: (present,).
    sentences
        Indices of these sentences: (present,).
    """

    rows: NDArray[np.intp]
    start: NDArray[np.intp]
    size: NDArray[np.intp]
    sentences: NDArray[np.intp]

    def means(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """Mean over the rows of each sentence: (..., present) in float64 from (..., token)."""
        if not len(self.start):
            return np.zeros((*values.shape[:-1], 0))
        # `take` is four times as fast as an index of float16.
        sums = np.add.reduceat(values.take(self.rows, axis=-1), self.start, axis=-1, dtype=np.float64)
        means: NDArray[np.float64] = sums / self.size
        return means


def find_segments(rows: NDArray[np.bool_], lengths: NDArray[np.integer]) -> Segments:
    """Group the chosen rows by sentence.

    Parameters
    ----------
    rows
        Whether each row counts: (token,).
    lengths
        Tokens of each sentence, one after the other: (sentence,).
    """
    owner = np.repeat(np.arange(len(lengths)), lengths)[rows]
    sentences, start, size = np.unique(owner, return_index=True, return_counts=True)
    return Segments(np.flatnonzero(rows), start, size, sentences)


def draw_counts(seed: int, block: int, sentences: int) -> NDArray[np.float64]:
    """Counts of the sentences of a block in each replicate, drawn from Poisson(1).

    Counts are the same for every layer, head and statistic; a seed and a block always give the same bits.

    Parameters
    ----------
    seed
        Any integer.
    block
        Number of the block.
    sentences
        Number of sentences of the block.

    Returns
    -------
    (sentence, replicate), whole numbers.
    """
    # numpy refuses negative seeds: take its 64 bits.
    generator = np.random.default_rng([seed & (1 << 64) - 1, block])
    return generator.poisson(1, (sentences, REPLICATES)).astype(np.float64)


class Replicates:
    """Sums of every replicate, to which sentences are added. Their size does not depend on the number of sentences."""

    def __init__(
        self, *, sources: int, statistics: int, layers: int, heads: int, dtype: type[np.floating] = np.float64
    ) -> None:
        self.sums = np.zeros((layers, sources, statistics, heads, REPLICATES), dtype)
        self.counts = np.zeros((sources, REPLICATES))
        self.sentences = np.zeros(sources, np.int64)

    def count(self, source: int, segments: Segments, counts: NDArray[np.floating]) -> None:
        """Add the counts (sentence, replicate) of the sentences that have rows of a source to the denominators."""
        self.counts[source] += counts[segments.sentences].sum(axis=0)
        self.sentences[source] += len(segments.sentences)

    def add(self, layer: int, source: int, means: NDArray[np.float64], counts: NDArray[np.float64]) -> None:
        """Add means of sentences (statistic, head, present) with their counts (present, replicate)."""
        self.sums[layer, source] += means @ counts

    def count_all(self, present: NDArray[np.bool_], counts: NDArray[np.floating]) -> None:
        """See `count`, for all sources at once; `present`: whether a sentence has rows of a source (source, sentence)."""
        self.counts += present.astype(counts.dtype) @ counts
        self.sentences += present.sum(axis=1)

    def add_statistic(
        self,
        statistic: int,
        means: NDArray[np.float32],
        counts: NDArray[np.float32],
        of_source: NDArray[np.integer],
    ) -> None:
        """Add means of one statistic (mean, layer, head, sentence), 0 where a sentence has no rows of the source.

        `of_source` (source,): index of each source's mean; sources with the same rows share a mean.
        """
        sums = (means.reshape(-1, means.shape[-1]) @ counts).reshape(*means.shape[:-1], REPLICATES)
        for source, mean in enumerate(of_source):
            self.sums[:, source, statistic] += sums[mean]

    def interval(self) -> NDArray[np.float64]:
        """95% percentile intervals of the means: (bound, source, statistic, layer, head).

        NaN where fewer than two sentences have rows of a source.
        """
        return self._percentiles()

    def layer_interval(self) -> NDArray[np.float64]:
        """95% percentile intervals of the mean over heads: (bound, source, statistic, layer). Heads share each replicate."""
        return self._mean_of_heads().interval()[..., 0]

    def difference_interval(self, other: "Replicates") -> NDArray[np.float64]:
        """95% percentile intervals of the means minus the means of `other`, which has the same draws of the same sentences.

        Returns
        -------
        (bound, source, statistic, layer, head), NaN where fewer than two sentences of either have rows of a source.
        """
        return self._percentiles(other)

    def layer_difference_interval(self, other: "Replicates") -> NDArray[np.float64]:
        """See `difference_interval`, for the mean over heads: (bound, source, statistic, layer)."""
        return self._mean_of_heads().difference_interval(other._mean_of_heads())[..., 0]

    def _mean_of_heads(self) -> "Replicates":
        """Replicates of the mean over heads, as a single head."""
        sums: NDArray[np.floating] = self.sums.mean(axis=3, keepdims=True)
        layers, sources, statistics, _, _ = sums.shape
        mean = Replicates(sources=sources, statistics=statistics, layers=layers, heads=1)
        mean.sums, mean.counts, mean.sentences = sums, self.counts, self.sentences
        return mean

    def _percentiles(self, minus: "Replicates | None" = None) -> NDArray[np.float64]:
        layers, sources, statistics, heads, _ = self.sums.shape
        bounds = np.full((len(PERCENTILES), sources, statistics, layers, heads), np.nan)
        both = [self] if minus is None else [self, minus]
        for source in np.flatnonzero([min(one.sentences[n] for one in both) > 1 for n in range(sources)]):
            drawn = np.all([one.counts[source] > 0 for one in both], axis=0)
            means = self._means(source, drawn) - (0 if minus is None else minus._means(source, drawn))
            bounds[:, source] = np.percentile(means, PERCENTILES, axis=0).swapaxes(1, 2)
        return bounds

    def _means(self, source: np.intp, drawn: NDArray[np.bool_]) -> NDArray[np.floating]:
        """Means of the drawn replicates over the rows of a source: (replicate, layer, statistic, head)."""
        means: NDArray[np.floating] = self.sums[:, source, ..., drawn] / self.counts[source, drawn][:, None, None, None]
        return means


class ShareReplicates:
    """Shares of items, such as word pairs, in every replicate, to which items of sentences are added.

    Parameters
    ----------
    shape
        Shape of the numbers of one item.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.sums = np.zeros((*shape, REPLICATES))
        self.items = np.zeros(REPLICATES)
        self.sentences = 0

    def add(
        self, values: NDArray[np.bool_ | np.integer], sentence: NDArray[np.integer], counts: NDArray[np.floating]
    ) -> None:
        """Add items with their values (..., item), their sentences (item,), and the counts of sentences (sentence, replicate).

        All items of a sentence are added at once. They are summed first: float32 is exact for whole numbers below 2^24.
        """
        order = np.argsort(sentence, kind="stable")
        present, start, size = np.unique(sentence[order], return_index=True, return_counts=True)
        drawn = counts[present].astype(np.float32)
        self.sentences += len(present)
        if len(present):
            sums = np.add.reduceat(values[..., order], start, axis=-1, dtype=np.float32)
            # One product of two matrices: numpy would multiply a stack of matrices one by one.
            self.sums += (sums.reshape(-1, len(present)) @ drawn).reshape(self.sums.shape)
            self.items += size.astype(np.float32) @ drawn

    def interval(self) -> NDArray[np.float64]:
        """95% percentile intervals of the shares (bound, ...); NaN where fewer than two sentences have an item."""
        drawn = self.items > 0
        if self.sentences < 2:
            return np.full((len(PERCENTILES), *self.sums.shape[:-1]), np.nan)
        return np.percentile(self.sums[..., drawn] / self.items[drawn], PERCENTILES, axis=-1)


def squared_sums(statistics: AnyArray, weights: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Sums over sentences of a sentence's squared mean over the rows of a source, and of the square of its mean over heads.

    Parameters
    ----------
    statistics
        (sentence, token, statistic, head), float64 for exact sums; finite in the padding too.
    weights
        `store.kernels.statistics.row_weights`: (source, sentence, token), 0 in the padding.

    Returns
    -------
    (source, statistic, head) and (source, statistic).
    """
    xp = namespace(statistics)
    sentences, tokens, numbers, heads = statistics.shape
    # One product of matrices for each sentence: (source, token) by (token, statistic and head).
    product = xp.matmul(xp.swapaxes(weights, 0, 1), statistics.reshape(sentences, tokens, -1))
    means = product.reshape(sentences, -1, numbers, heads)
    of_heads = means.mean(axis=-1)
    return (means * means).sum(axis=0), (of_heads * of_heads).sum(axis=0)


def interval_of_sums(
    sums: NDArray[np.number], squares: NDArray[np.number], counts: NDArray[np.number]
) -> NDArray[np.float64]:
    """95% intervals of means over sentences. Statistics and ends of intervals are never negative.

    Parameters
    ----------
    sums, squares
        Sums over sentences of their means, and of the squared means: (source, ...).
    counts
        Number of sentences with rows of a source: (source,).

    Returns
    -------
    (bound, source, ...), NaN where fewer than two sentences count.
    """
    count = np.where(counts > 1, counts, np.nan).reshape(-1, *[1] * (sums.ndim - 1))
    mean = sums / count
    # Where all sentences agree, rounding may make the variance negative.
    variance = np.maximum(squares / count - mean * mean, 0) / (count - 1)
    reach = DEVIATIONS * np.sqrt(variance)
    return np.stack([np.maximum(mean - reach, 0), mean + reach])


class Kind(NamedTuple):
    """Rows that belong to the same sources.

    Attributes
    ----------
    means
        Whether the rows count in each distinct mean: (mean,) of bool.
    place
        Slice of the rows in the order of `SentenceRows`.
    starts
        Start of each sentence in this slice: (sentence,).
    absent
        Sentences without rows of this kind, which have one row of another kind as a placeholder.
    """

    means: NDArray[np.bool_]
    place: slice
    starts: NDArray[np.intp]
    absent: NDArray[np.intp]


class SentenceRows(NamedTuple):
    """Rows of some sentences, ordered by kind and then by sentence. Sentences without rows are left out.

    Attributes
    ----------
    order
        Indices of the rows, some of which occur several times: (place,).
    kinds
        The kinds, with the places of their rows.
    of_source
        Index of each source's mean among the distinct means: (source,); sources with the same rows share a mean.
    sizes
        Number of rows of each distinct mean in each sentence: (mean, sentence).
    sentences
        Indices of the sentences: (sentence,).
    """

    order: NDArray[np.intp]
    kinds: tuple[Kind, ...]
    of_source: NDArray[np.intp]
    sizes: NDArray[np.int64]
    sentences: NDArray[np.intp]

    def means(self, values: NDArray[np.floating], at_once: int = AT_ONCE) -> NDArray[np.float32]:
        """Each distinct mean in each sentence, 0 where the sentence has no such rows.

        Parameters
        ----------
        values
            (..., row).
        at_once
            Bytes of float32 values that are summed at once.

        Returns
        -------
        (mean, ..., sentence).
        """
        flat = values.reshape(-1, values.shape[-1])
        sums = np.zeros((len(self.sizes), len(flat), len(self.sentences)), np.float32)
        step = max(1, at_once // (4 * max(1, len(self.order))))
        taken = np.empty((step, len(self.order)), values.dtype)
        floats = np.empty(taken.shape, np.float32)
        for start in range(0, len(flat), step):
            own = flat[start : start + step]
            # `clip`, as `raise` would copy; new arrays in every step would take as long as the sums, for new pages of memory.
            own.take(self.order, axis=-1, out=taken[: len(own)], mode="clip")
            self._add(sums[:, start : start + step], as_float32(taken[: len(own)], floats[: len(own)]))
        sums /= np.maximum(self.sizes, 1).astype(np.float32)[:, None]
        return sums.reshape(len(sums), *values.shape[:-1], len(self.sentences))

    def _add(self, sums: NDArray[np.float32], ordered: NDArray[np.float32]) -> None:
        for kind in self.kinds:
            own = ordered[:, kind.place]
            if own.shape[-1] > len(kind.starts):
                own = np.add.reduceat(own, kind.starts, axis=-1)
            own[:, kind.absent] = 0
            for mean in np.flatnonzero(kind.means):
                sums[mean] += own


def order_rows(sources: NDArray[np.bool_], sentence: NDArray[np.integer]) -> SentenceRows:
    """Order rows for `SentenceRows.means`.

    Parameters
    ----------
    sources
        Whether each row belongs to each source: (source, row).
    sentence
        Index of the sentence of each row, ascending: (row,).
    """
    sentences, own = np.unique(sentence, return_inverse=True)
    bits = np.arange(len(sources))
    patterns, kind_of = np.unique((1 << bits) @ sources, return_inverse=True)
    distinct, of_source = np.unique((patterns >> bits[:, None]) & 1 == 1, axis=0, return_inverse=True)
    parts, kinds, lengths, begun = [], [], [], 0
    for number, means in enumerate(distinct.T):
        rows = np.flatnonzero(kind_of == number)
        lengths.append(np.bincount(own[rows], minlength=len(sentences)))
        part, starts, absent = _with_all_sentences(rows, own[rows], lengths[-1])
        parts.append(part)
        kinds.append(Kind(means, slice(begun, begun + len(part)), starts, absent))
        begun += len(part)
    sizes = distinct.astype(np.int64) @ np.stack(lengths)
    return SentenceRows(np.concatenate(parts), tuple(kinds), of_source.reshape(-1), sizes, sentences)


def _with_all_sentences(
    rows: NDArray[np.intp], sentence: NDArray[np.integer], lengths: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Rows with a placeholder for each sentence without rows, the start of each sentence, and the sentences without rows."""
    absent = np.flatnonzero(lengths == 0)
    # `reduceat` gives a sentence without rows the value of the next row; a placeholder's value can be set to 0 at once.
    whole = np.insert(rows, np.searchsorted(sentence, absent), rows[0])
    starts = np.cumsum(np.maximum(lengths, 1)) - np.maximum(lengths, 1)
    return whole, starts, absent


def as_float32(values: NDArray[np.floating], into: NDArray[np.float32]) -> NDArray[np.float32]:
    """Write values into an array in float32. Non-negative, finite float16 values are converted by their bits, in half the time."""
    if values.dtype != np.float16 or not values.size or values.view(np.uint16).max() >= SMALLEST_INFINITE:
        into[...] = values
        return into
    np.left_shift(values.view(np.uint16), MANTISSA_SHIFT, out=into.view(np.uint32), dtype=np.uint32)
    into *= EXPONENT_SHIFT
    return into
