"""Means over sentences of the rows of any part of a corpus, from what is stored of each row."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from store.kernels.bootstrap import Segments, find_segments
from store.kernels.statistics import source_rows

Floats = NDArray[np.floating]


def part_segments(flags: NDArray[np.integer], sentence: NDArray[np.integer]) -> tuple[Segments, ...]:
    """The rows of each source among a part's tokens.

    Parameters
    ----------
    flags, sentence
        (token,), flags and number of the sentence of every token; tokens of a sentence stand together, numbers from 0.

    Returns
    -------
    One for each of `schema.SOURCES`.
    """
    lengths = np.bincount(sentence)
    return tuple(find_segments(rows, lengths) for rows in source_rows(flags, np.ones(len(flags), bool)))


def sentence_means(values: Floats, segments: Sequence[Segments], sentences: int) -> NDArray[np.float32]:
    """Mean over each sentence's rows of each source: (source, ..., sentence) from (..., token).

    0 where a sentence has no such rows. Values in float16 are added in float32, whose rounding is far below theirs.
    """
    means = np.zeros((len(segments), *values.shape[:-1], sentences), np.float32)
    for own, source in zip(means, segments, strict=True):
        own[..., source.sentences] = source.means(values)
    return means
