"""Means over the rows of every source in each sentence, for values of many heads at once.

Sources overlap: a word is a row of `all`, of `word` and of `other`. Rows of the same sources are summed once, and the sums of
a source are added up from these. Summing each source by itself took three times as long.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Bytes of float32 values that are summed at once: they stay in the cache of a core.
AT_ONCE = 1 << 20
#: float16 has an exponent of 5 bits and a bias of 15, float32 one of 8 and 127.
MANTISSA_SHIFT, EXPONENT_SHIFT, SMALLEST_INFINITE = np.uint32(13), np.float32(2.0 ** (127 - 15)), 0x7C00


class Kind(NamedTuple):
    """Rows that are rows of the same sources.

    Attributes
    ----------
    means
        Which of the distinct means they count in: (mean,) of bool.
    place
        Their place in the order of `SentenceRows`.
    starts
        Start of each sentence in that place: (sentence,).
    absent
        Sentences without such rows, which have one row of another kind in their place instead.
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
        Indices of the rows, some of them several times: (place,).
    kinds
        Where those of each kind are.
    of_source
        Which of the distinct means is that of each source: sources with the same rows share one, (source,).
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
        """Mean over the rows of each distinct mean in each sentence, 0 where it has none.

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
            # `clip` as `raise` would copy; new arrays in every step would cost as much as the sums, in pages of memory.
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
        Whether each row is one of each source: (source, row).
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
    """Rows with one more for each sentence that has none, the start of each sentence, and the sentences that have none."""
    absent = np.flatnonzero(lengths == 0)
    # `reduceat` gives a sentence without rows the value of the next row; a column of its own is set to 0 in one go.
    whole = np.insert(rows, np.searchsorted(sentence, absent), rows[0])
    starts = np.cumsum(np.maximum(lengths, 1)) - np.maximum(lengths, 1)
    return whole, starts, absent


def as_float32(values: NDArray[np.floating], into: NDArray[np.float32]) -> NDArray[np.float32]:
    """Values in float32, written into an array. Not negative, finite ones in float16 by their bits: in half the time."""
    if values.dtype != np.float16 or not values.size or values.view(np.uint16).max() >= SMALLEST_INFINITE:
        into[...] = values
        return into
    np.left_shift(values.view(np.uint16), MANTISSA_SHIFT, out=into.view(np.uint32), dtype=np.uint32)
    into *= EXPONENT_SHIFT
    return into
