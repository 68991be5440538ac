"""How far the attention of every head is from that of its counterpart in another model, sentence by sentence."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dashboard.compare.kept import kept
from dashboard.compare.sample import Sample, sample_of
from dashboard.compare.two import Two
from store.kernels.attention import attention_pattern
from store.kernels.divergence import row_divergence

#: Tokens whose rows are compared: half a second for 6 by 12 heads of 32 channels on two cores.
TOKENS = 5_000
Floats = NDArray[np.float32]


def divergence_sample(two: Two) -> Sample:
    """The sentences over which divergences are means."""
    return sample_of(two, TOKENS)


def counterpart_divergence(two: Two) -> Floats:
    """Mean over a sentence's rows of the Jensen-Shannon divergence from the counterpart: (sentence, layer, head) in nats.

    A counterpart is the head of the same layer and number; both models have as many.
    """
    return kept(two, "divergence", lambda: _divergence(two, divergence_sample(two)))


def _divergence(two: Two, sample: Sample) -> Floats:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        layers = pool.map(lambda layer: _of_layer(two, sample, layer), range(two.own.layers))
        return np.stack(list(layers), axis=1)


def _of_layer(two: Two, sample: Sample, layer: int) -> Floats:
    """(sentence, head)."""
    own, other = (_patterns(one.query, one.key, sample, layer) for one in (two.own, two.other))
    means = [row_divergence(*patterns).mean(axis=-1) for patterns in zip(own, other, strict=True)]
    return np.array(means, np.float32)


def _patterns(query: xr.DataArray, key: xr.DataArray, sample: Sample, layer: int) -> Iterator[Floats]:
    """Patterns (head, query_token, key_token) of a layer, a sentence at a time."""
    vectors = [_read(array, sample, layer) for array in (query, key)]
    for start, size in zip(sample.start.tolist(), sample.size.tolist(), strict=True):
        yield attention_pattern(*(one[:, start : start + size].astype(np.float32) for one in vectors))


def _read(array: xr.DataArray, sample: Sample, layer: int) -> NDArray[np.float16]:
    """(head, token, channel) of all rows up to the last sentence's."""
    stop = int(sample.start[-1] + sample.size[-1])
    values: NDArray[np.float16] = array.variable[layer, :, :stop].values
    return values
