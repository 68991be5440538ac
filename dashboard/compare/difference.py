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
#: Of every head the name of a statistic: (layer, head).
Names = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Difference:
    """A statistic of every head (layer, head) in this model and in the other one, and other - this with its interval.

    It is the same of all heads, or one for each of them.

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
    names = np.full((two.own.layers, two.own.heads), statistic, object)
    return kept(two, ("difference", statistic, source), lambda: difference_of(two, names, source))


def difference_of(two: Two, names: Names, source: str) -> Difference:
    """Of the statistic that each head has in `names`, counted anew."""
    sample = sample_of(two, TOKENS)
    segments = segments_of(two, sample, source)
    own, other = (_means(one, sample, segments, names) for one in (two.own, two.other))
    less = mean_interval(np.moveaxis(other - own, -1, 0))
    return Difference(_mean(own), _mean(other), less, sample, len(segments.sentences))


def _means(corpus: Corpus, sample: Sample, segments: Segments, names: Names) -> Floats:
    """Mean over each sentence's rows: (layer, head, present), the sentences that have such rows."""
    means = np.empty((*names.shape, len(segments.sentences)))
    rows = sample.rows

    def read(layer: int, statistic: str) -> None:
        """All heads of a layer have one chunk: one of them is read as fast as all."""
        place, heads = list(STATISTICS).index(statistic), names[layer] == statistic
        values = corpus.token_statistic.variable[place, layer, :, : int(rows[-1]) + 1].values
        means[layer, heads] = segments.means(values[np.ix_(heads, rows)])

    asked = {(layer, name) for layer, row in enumerate(names) for name in row}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(read, *zip(*asked, strict=True)))
    return means


def _mean(values: Floats) -> Floats:
    """Over sentences (layer, head, sentence); NaN without any."""
    return values.mean(axis=-1) if values.shape[-1] else np.full(values.shape[:-1], np.nan)
