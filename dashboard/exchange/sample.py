"""Which sentences a head is shown in: some of each interval of its largest weight, as HeadVis samples them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Intervals that hold as many sentences each, the one with the largest weights last; sentences of each, and of the last.
INTERVALS, OF_EACH, OF_LAST = 5, 3, 10
#: Tokens of a sampled sentence at most: a file of a head stays near 1 MB.
LONGEST = 512


class SampledSentence(NamedTuple):
    """A sentence of the sample, and its interval, from 1."""

    sentence: int
    interval: int


def sampled_sentences(
    largest: NDArray[np.floating], lengths: NDArray[np.integer], seed: int = 0
) -> list[SampledSentence]:
    """The sample of a head, interval by interval.

    Parameters
    ----------
    largest
        Largest weight of the head in each sentence: (sentence,).
    lengths
        Tokens of each: (sentence,). Those of fewer than 2 count nowhere, those of more than `LONGEST` are not sampled.
    seed
        Which of an interval are drawn; of the last, those with the largest weights are taken.
    """
    counted = np.flatnonzero(lengths > 1)
    interval = np.searchsorted(_boundaries(np.sort(largest[counted])), largest, side="right")
    draw = np.random.default_rng(seed)
    sampled = []
    for number in range(INTERVALS):
        own = counted[(interval[counted] == number) & (lengths[counted] <= LONGEST)]
        if number == INTERVALS - 1:
            taken = own[np.argsort(-largest[own], kind="stable")[:OF_LAST]]
        else:
            taken = np.sort(draw.choice(own, min(OF_EACH, len(own)), replace=False))
        sampled += [SampledSentence(int(sentence), number + 1) for sentence in taken]
    return sampled


def _boundaries(ascending: NDArray[np.floating]) -> NDArray[np.floating]:
    count = len(ascending)
    places = np.rint(np.arange(1, INTERVALS) * count / INTERVALS).astype(int)
    return ascending[np.minimum(places, count - 1)] if count else np.zeros(INTERVALS - 1)
