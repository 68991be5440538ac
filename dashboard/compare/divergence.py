"""How far the attention of every head is from that of its counterpart in another model, sentence by sentence."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from dashboard.compare.kept import is_kept, kept
from dashboard.compare.sample import Sample, sample_of
from dashboard.compare.two import Two
from store import Corpus
from store.kernels.attention import attention_pattern
from store.kernels.divergence import row_divergence

#: Tokens whose rows are compared: half a second for 6 by 12 heads of 32 channels on two cores.
TOKENS = 5_000
#: Tokens whose rows are compared of one head alone: 0.3 s for 26,000 of 32 channels on one core.
HEAD_TOKENS = 50_000
Floats = NDArray[np.float32]


def divergence_sample(two: Two) -> Sample:
    """The sentences over which divergences are means."""
    return sample_of(two, TOKENS)


def counterpart_divergence(two: Two) -> Floats:
    """Mean over a sentence's rows of the Jensen-Shannon divergence from the counterpart: (sentence, layer, head) in nats.

    A counterpart is the head of the same layer and number; both models have as many.
    """
    return kept(two, "divergence", lambda: _divergence(two, divergence_sample(two)))


def head_sample(two: Two) -> Sample:
    """The sentences that are looked at of one head: more than of all, as it is one."""
    return sample_of(two, HEAD_TOKENS)


def head_divergence(two: Two, layer: int, head: int) -> Floats:
    """As `counterpart_divergence`, of one head in more sentences: (sentence,) in nats."""
    heads = slice(head, head + 1)
    return kept(two, _of_head(layer, head), lambda: _of_heads(two, head_sample(two), layer, heads)[:, 0])


def head_divergence_is_kept(two: Two, layer: int, head: int) -> bool:
    """Whether it has been counted."""
    return is_kept(two, _of_head(layer, head))


def _of_head(layer: int, head: int) -> tuple[object, ...]:
    return ("divergence", layer, head)


def _divergence(two: Two, sample: Sample) -> Floats:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        layers = pool.map(lambda layer: _of_heads(two, sample, layer, slice(None)), range(two.own.layers))
        return np.stack(list(layers), axis=1)


def _of_heads(two: Two, sample: Sample, layer: int, heads: slice) -> Floats:
    """(sentence, head), some heads of a layer."""
    own, other = (_patterns(one, sample, layer, heads) for one in (two.own, two.other))
    means = [row_divergence(*patterns).mean(axis=-1) for patterns in zip(own, other, strict=True)]
    return np.array(means, np.float32)


def _patterns(corpus: Corpus, sample: Sample, layer: int, heads: slice) -> Iterator[Floats]:
    """Patterns (head, query_token, key_token) of heads of a layer, a sentence at a time."""
    stop = int(sample.start[-1] + sample.size[-1])
    vectors = [array.variable[layer, heads, :stop].values for array in (corpus.query, corpus.key)]
    for start, size in zip(sample.start.tolist(), sample.size.tolist(), strict=True):
        yield attention_pattern(*(one[:, start : start + size].astype(np.float32) for one in vectors))
