"""How a statistic of every head differs between two models, with intervals that are paired in every sentence."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.compare.interval import MeanInterval, mean_interval
from dashboard.compare.kept import kept
from dashboard.compare.sample import Sample, sample_of, segments_of
from dashboard.compare.two import Two
from store import STATISTICS, Corpus
from store.kernels.bootstrap import Segments

#: Tokens whose statistics are read: all of most corpora, and never more than 0.4 GB of one with 12 by 12 heads.
TOKENS = 200_000
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Difference:
    """A statistic of every head (layer, head) in this model and in the other one, and other - this with its interval.

    Attributes
    ----------
    own, other
        Means over the same sentences.
    less
        Their difference and its 95 % interval.
    sample, sentences
        The sentences that were looked at, and how many of them have rows of the source.
    """

    own: Floats
    other: Floats
    less: MeanInterval
    sample: Sample
    sentences: int


def difference(two: Two, statistic: str, source: str) -> Difference:
    """Of one statistic over the rows of a source, in models with as many layers and heads."""
    return kept(two, ("difference", statistic, source), lambda: _difference(two, statistic, source))


def _difference(two: Two, statistic: str, source: str) -> Difference:
    sample = sample_of(two, TOKENS)
    segments = segments_of(two, sample, source)
    own, other = (_means(one, sample, segments, statistic) for one in (two.own, two.other))
    less = mean_interval(np.moveaxis(other - own, -1, 0))
    return Difference(_mean(own), _mean(other), less, sample, len(segments.sentences))


def _means(corpus: Corpus, sample: Sample, segments: Segments, statistic: str) -> Floats:
    """Mean over each sentence's rows: (layer, head, present), the sentences that have such rows."""
    place, rows = list(STATISTICS).index(statistic), sample.rows
    stop = int(rows[-1]) + 1

    def of_layer(layer: int) -> NDArray[np.float32]:
        values: NDArray[np.float16] = corpus.token_statistic.variable[place, layer, :, :stop].values
        return segments.means(values[:, rows])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.stack(list(pool.map(of_layer, range(corpus.layers)))).astype(np.float64)


def _mean(values: Floats) -> Floats:
    """Over sentences (layer, head, sentence); NaN without any."""
    return values.mean(axis=-1) if values.shape[-1] else np.full(values.shape[:-1], np.nan)
