"""The first whole sentences of two models' corpus: every prefix of it is a fair sample."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.compare.two import Two
from store.amounts import many
from store.kernels.bootstrap import Segments, find_segments
from store.kernels.statistics import source_rows
from store.schema import SOURCES


@dataclass(frozen=True)
class Sample:
    """So many sentences from the first on.

    Attributes
    ----------
    start, size
        Where each sentence begins on the token axis, and how many tokens it has: (sentence,).
    """

    start: NDArray[np.int64]
    size: NDArray[np.int32]

    @property
    def sentences(self) -> int:
        """How many sentences."""
        return len(self.size)

    @property
    def tokens(self) -> int:
        """How many tokens."""
        return int(self.size.sum())

    @property
    def rows(self) -> NDArray[np.int64]:
        """Their rows of the token axis, without what is between two blocks: (token,)."""
        within = np.arange(self.tokens) - np.repeat(np.cumsum(self.size) - self.size, self.size)
        return np.repeat(self.start, self.size) + within


def sample_of(two: Two, tokens: int) -> Sample:
    """The first whole sentences of both within so many tokens, but at least one."""
    sentences = two.own.sentences.isel(sentence=slice(0, two.sentences))
    sizes = sentences.row_size.values
    count = max(1, int(np.searchsorted(np.cumsum(sizes), tokens, side="right")))
    return Sample(sentences.row_start.values[:count], sizes[:count])


def segments_of(two: Two, sample: Sample, source: str) -> Segments:
    """The rows of a source among the sample's tokens, sentence by sentence."""
    flags = two.own.tokens.token_flags.values[sample.rows]
    rows = source_rows(flags, np.ones(len(flags), bool))[SOURCES.index(source)]
    return find_segments(rows, sample.size)


def said_of(two: Two, sample: Sample) -> str:
    """Which sentences these are, in words."""
    every = "all" if sample.sentences == two.sentences else "the first"
    return f"{every} {sample.sentences:,} of {many(two.sentences, 'sentence')} ({sample.tokens:,} of {many(two.tokens, 'token')}) of both models"
