"""Attention as HeadVis counts it, layer by layer, from the stored queries and keys of a corpus."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store.corpus import Corpus
from store.hypothesis import sentence_vectors
from store.kernels.attention import attention_pattern
from store.kernels.headvis import METRICS, MetricSums, largest_weight
from store.means import Watch
from store.repository.errors import StoreError, is_integer
from store.schema.model import HEADS

#: Weights that are held at once: rows of a long sentence are computed in parts.
ROOM = 1 << 22


@dataclass(frozen=True, eq=False)
class LayerAttention:
    """What the heads of a layer do in the first sentences.

    Attributes
    ----------
    metrics
        (metric, head) in the order of `METRICS`.
    largest
        Largest weight in each sentence, the first token left out: (head, sentence).
    """

    metrics: NDArray[np.float64]
    largest: NDArray[np.float64]


def read_rows_of_patterns(
    corpus: Corpus, layer: int, sentences: Sequence[int], *, head: int | None = None, room: int = ROOM
) -> Iterator[tuple[int, int, NDArray[np.float32]]]:
    """Rows of the patterns of a layer: sentence, position of the first query, and weights (head, query_token, key_token).

    `sentences` ascend. `head` is the only one, None for all of the layer. `room`: weights at once.
    """
    part = {"layer": slice(layer, layer + 1), "head": slice(None) if head is None else slice(head, head + 1)}
    vectors = {"query": corpus.query.isel(part), "key": corpus.key.isel(part)}
    bias = corpus.bias and corpus.bias.part(layer, head)
    for sentence, _, query, key in sentence_vectors(corpus, vectors, sentences):
        heads, tokens = key.shape[:2]
        queries = max(1, room // (heads * tokens))
        for first in range(0, tokens, queries):
            rows = np.arange(first, min(first + queries, tokens))
            own = bias and bias.at(rows, np.arange(tokens))
            of_rows, of_keys = query[:, rows].astype(np.float32), key.astype(np.float32)
            yield sentence, first, attention_pattern(of_rows, of_keys, bias=own)


def layer_attention(corpus: Corpus, layer: int, sentences: int, watch: Watch = lambda _: None) -> LayerAttention:
    """What the heads of a layer do in the first sentences. `watch` is called with the finished share."""
    sums, largest = MetricSums(corpus.heads), np.zeros((corpus.heads, sentences))
    pieces = corpus.tokens.token_id.values
    for sentence, first, weights in read_rows_of_patterns(corpus, layer, range(sentences)):
        if weights.shape[-1] > 1:  # a token alone counts nowhere
            sums.add(weights, pieces[corpus.sentence_rows(sentence)], first)
            largest[:, sentence] = np.maximum(largest[:, sentence], largest_weight(weights, first))
        watch((sentence + 1) / sentences)
    return LayerAttention(sums.metrics, largest)


def headvis_metrics(corpus: Corpus, sentences: int | None = None, watch: Watch = lambda _: None) -> xr.Dataset:
    """The six metrics of HeadVis of every head (layer, head), as `read_headvis` has those of other models.

    Parameters
    ----------
    corpus
        An opened store.
    sentences
        How many of its first sentences count; None for all with vectors.
    watch
        Called with the finished share, 0 to 1; an error that it raises ends the computation.

    Raises
    ------
    StoreError
        Without a sentence.
    """
    if sentences is not None and (not is_integer(sentences) or sentences < 1):
        raise StoreError(f"There are no metrics of {sentences!r} sentences. Give at least 1, a whole number.")
    count = min(sentences or corpus.n_sentences, corpus.n_sentences)
    layers = [layer_attention(corpus, layer, count).metrics for layer in _watched(corpus.layers, watch)]
    return labelled_metrics(np.stack(layers, axis=1), model=corpus.title, sentences=count, snapshot=corpus.snapshot)


def _watched(steps: int, watch: Watch) -> Iterator[int]:
    for step in range(steps):
        watch(step / steps)
        yield step


def labelled_metrics(metrics: NDArray[np.float64], **attributes: str | int) -> xr.Dataset:
    """Metrics (metric, layer, head) by their names, with what they mean."""
    arrays = {name: (HEADS, values, {"meaning": METRICS[name]}) for name, values in zip(METRICS, metrics, strict=True)}
    layers, heads = metrics.shape[1:]
    return xr.Dataset(arrays, {"layer": np.arange(layers), "head": np.arange(heads)}, attributes)
