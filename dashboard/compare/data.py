"""How the heads of two models differ: statistics and divergences with paired intervals, and the tables of them."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.compare.two_models import (
    MeanInterval,
    ModelPair,
    Sample,
    cached_result,
    mean_interval,
    sample_of,
    segments_of,
)
from dashboard.roles.shares import RoleShares, known_shares
from dashboard.statistics.data import largest_first
from dashboard.statistics.heads import special_statistic
from dashboard.ui.files import Table
from dashboard.ui.work import watched
from dashboard.web.errors import Refusal
from dashboard.web.state import LinkState
from store import STATISTICS, Corpus
from store.kernels.attention import attention_rows
from store.kernels.heads import row_divergence
from store.kernels.intervals import Segments
from store.schema.model import head_name, varying_statistics

#: Most tokens whose statistics are read: at most 0.4 GB for 12 by 12 heads.
STATISTIC_TOKENS = 200_000
Floats = NDArray[np.float64]
#: Name of a statistic for every head: (layer, head).
Names = NDArray[np.object_]
#: Tokens whose rows are compared: half a second for 6 by 12 heads of 32 channels on two cores.
DIVERGENCE_TOKENS = 5_000
#: Tokens whose rows are compared for one head alone: 0.3 s for 26,000 of 32 channels on one core.
HEAD_TOKENS = 50_000
Weights = NDArray[np.float32]


def statistic_of(state: LinkState, two: ModelPair) -> str:
    """The statistic that a link compares."""
    return state.statistic or special_statistic(two.own)


@dataclass(frozen=True, eq=False)
class Difference:
    """A statistic of every head (layer, head) in both models, and its change (other minus own) with an interval.

    The statistic is the same for all heads, or each head has its own.

    Attributes
    ----------
    own, other
        Means over the same sentences.
    change
        Their difference and its 95% interval.
    sample, sentences
        The sentences averaged over, and how many of them have rows of the source.
    """

    own: Floats
    other: Floats
    change: MeanInterval
    sample: Sample
    sentences: int


def difference(two: ModelPair, statistic: str, source: str) -> Difference:
    """The difference of one statistic over the rows of a source, cached."""
    names = np.full((two.own.layers, two.own.heads), statistic, object)
    return cached_result(two, ("difference", statistic, source), lambda: difference_of(two, names, source))


def difference_of(two: ModelPair, names: Names, source: str) -> Difference:
    """The difference of the statistic that `names` gives for each head."""
    sample = sample_of(two, STATISTIC_TOKENS)
    segments = segments_of(two, sample, source)
    own, other = (_means(model, sample, segments, names) for model in (two.own, two.other))
    change = mean_interval(np.moveaxis(other - own, -1, 0))
    return Difference(_mean(own), _mean(other), change, sample, len(segments.sentences))


def _means(corpus: Corpus, sample: Sample, segments: Segments, names: Names) -> Floats:
    """Mean of a statistic over each sentence's rows, for the sentences with rows: (layer, head, sentence)."""
    means = np.empty((*names.shape, len(segments.sentences)))
    rows = sample.rows

    def read(layer: int, statistic: str) -> None:
        """Read a statistic of a layer: all its heads are in one chunk, and reading one takes as long as reading all."""
        place, heads = list(STATISTICS).index(statistic), names[layer] == statistic
        values = corpus.token_statistic.variable[place, layer, :, : int(rows[-1]) + 1].values
        means[layer, heads] = segments.means(values[np.ix_(heads, rows)])

    needed = {(layer, name) for layer, row in enumerate(names) for name in row}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(read, *zip(*needed, strict=True)))
    return means


def _mean(values: Floats) -> Floats:
    """Mean over sentences of (layer, head, sentence); NaN without sentences."""
    return values.mean(axis=-1) if values.shape[-1] else np.full(values.shape[:-1], np.nan)


def divergence_sample(two: ModelPair, most: int = DIVERGENCE_TOKENS) -> Sample:
    """The sentences over which divergences are means: the first ones, with at most `most` tokens together."""
    return sample_of(two, most)


def counterpart_divergence(two: ModelPair) -> Weights:
    """Mean over a sentence's rows of the Jensen-Shannon divergence from the counterpart: (sentence, layer, head) in nats.

    A counterpart is the head of the same layer and number; both models have as many.
    """
    return cached_result(two, "divergence", lambda: _divergence(two, divergence_sample(two)))


def head_sample(two: ModelPair, most: int = HEAD_TOKENS) -> Sample:
    """The sentences over which the divergence of one head is computed: more than for all heads."""
    return sample_of(two, most)


def head_divergence(two: ModelPair, layer: int, head: int) -> Weights:
    """Divergence of one head from its counterpart, in more sentences than `counterpart_divergence`: (sentence,) in nats."""
    heads = slice(head, head + 1)
    return cached_result(
        two, _divergence_key(layer, head), lambda: _divergences_of_heads(two, head_sample(two), layer, heads)[:, 0]
    )


def _divergence_key(layer: int, head: int) -> tuple[object, ...]:
    return ("divergence", layer, head)


def _divergence(two: ModelPair, sample: Sample) -> Weights:
    """Divergence of every head, layer by layer; it stops when no reader waits for it any more."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting = [
            pool.submit(_divergences_of_heads, two, sample, layer, slice(None)) for layer in range(two.own.layers)
        ]
        try:
            return np.stack([divergence.result() for divergence in watched(waiting)], axis=1)
        except Refusal:
            pool.shutdown(cancel_futures=True)
            raise


def _divergences_of_heads(two: ModelPair, sample: Sample, layer: int, heads: slice) -> Weights:
    """Divergences of some heads of a layer: (sentence, head)."""
    own, other = (_rows(model, sample, layer, heads) for model in (two.own, two.other))
    sums = np.zeros((sample.sentences, len(range(two.own.heads)[heads])))
    for (sentence, weights), (_, of_other) in zip(own, other, strict=True):
        sums[sentence] += row_divergence(weights, of_other).sum(axis=-1)
    return (sums / sample.size[:, None]).astype(np.float32)


def _rows(corpus: Corpus, sample: Sample, layer: int, heads: slice) -> Iterator[tuple[int, Weights]]:
    """Attention weights (head, query_token, key_token) of heads of a layer, some rows at a time, with their sentence's number."""
    stop = int(sample.start[-1] + sample.size[-1])
    vectors = [array.variable[layer, heads, :stop].values for array in (corpus.query, corpus.key)]
    bias = corpus.bias and corpus.bias.part(layer).of_heads(heads)
    for sentence, (start, size) in enumerate(zip(sample.start.tolist(), sample.size.tolist(), strict=True)):
        own = (role_vectors[:, start : start + size].astype(np.float32) for role_vectors in vectors)
        for _, weights in attention_rows(*own, bias=bias):
            yield sentence, weights


@dataclass(frozen=True, eq=False)
class Changes:
    """Changes of every head (layer, head) against the head of the same layer and number in the other model.

    Attributes
    ----------
    divergence
        Mean Jensen-Shannon divergence in nats, sentences weigh the same.
    difference
        The difference of the selected statistic.
    most
        Name of the statistic that changed most: by its difference, over all sentences of each model, in standard
        deviations among the heads of this model, so that shares, nats and tokens compare.
    most_difference
        The difference of that statistic.
    labels
        Labels in this model and in the other, empty for unlabelled heads: (2, layer, head).
    shares
        Roles of the heads of this model and of the other; None where a model has no roles.
    """

    divergence: MeanInterval
    difference: Difference
    most: NDArray[np.object_]
    most_difference: Difference
    labels: NDArray[np.object_]
    shares: tuple[RoleShares, RoleShares] | None


def changes(two: ModelPair, statistic: str, source: str) -> Changes:
    """The changes between models with the same layers and heads."""
    divergence = cached_result(two, "divergence intervals", lambda: mean_interval(counterpart_divergence(two)))
    most = most_changed(two)
    of_most = cached_result(two, "most changed", lambda: difference_of(two, most, "all"))
    labels = np.stack([model.head_labels.values.astype(object) for model in (two.own, two.other)])
    own, other = (known_shares(model) for model in (two.own, two.other))
    shares = (own, other) if own and other else None
    return Changes(divergence, difference(two, statistic, source), most, of_most, labels, shares)


def linked_changes(state: LinkState, two: ModelPair) -> Changes:
    """The changes for the statistic and the source of a link."""
    return changes(two, statistic_of(state, two), state.source)


def ranked_heads(changed: Changes, by: str) -> list[tuple[int, int]]:
    """Every head, the most changed first; heads without a number last."""
    size = changed.divergence.mean if by == "divergence" else np.abs(changed.difference.change.mean)
    return largest_first(size)


def most_changed(two: ModelPair) -> NDArray[np.object_]:
    """Name of the statistic that changed most in each head (layer, head): see `Changes`."""
    return np.array(varying_statistics("all"), object)[_sizes_of_changes(two).argmax(axis=0)]


def most_different(two: ModelPair) -> tuple[int, int, str]:
    """Layer and head of the largest change of all heads and statistics, and the name of its statistic."""
    return cached_result(two, "most different", lambda: _most_different(two))


def _most_different(two: ModelPair) -> tuple[int, int, str]:
    sizes = _sizes_of_changes(two)
    statistic, layer, head = map(int, np.unravel_index(sizes.argmax(), sizes.shape))
    return layer, head, varying_statistics("all")[statistic]


def _sizes_of_changes(two: ModelPair) -> Floats:
    """Changes of every statistic in standard deviations among the heads of this model: (statistic, layer, head)."""
    names = varying_statistics("all")
    own, other = (model.head_statistic.sel(source="all", statistic=names).values for model in (two.own, two.other))
    among = own.std(axis=(1, 2), keepdims=True)
    sizes: Floats = np.divide(np.abs(other - own), among, out=np.zeros_like(own), where=among > 0)
    return np.nan_to_num(sizes)


def changes_table(two: ModelPair, statistic: str, source: str) -> Table:
    """A row for each head and its counterpart, with 95% intervals; `a` and `b` are means of the statistic in A and in B."""
    changed = changes(two, statistic, source)
    layer, head = _heads(two)
    divergence, change = changed.divergence, changed.difference.change
    return {
        **_named(layer, head),
        "divergence": divergence.mean.ravel(),
        "divergence_low": divergence.low.ravel(),
        "divergence_high": divergence.high.ravel(),
        "statistic": np.full(len(layer), statistic, object),
        "source": np.full(len(layer), source, object),
        "a": changed.difference.own.ravel(),
        "b": changed.difference.other.ravel(),
        "difference": change.mean.ravel(),
        "difference_low": change.low.ravel(),
        "difference_high": change.high.ravel(),
        **_changed_most(changed),
        "label_a": changed.labels[0].ravel(),
        "label_b": changed.labels[1].ravel(),
    }


def differences_table(two: ModelPair, source: str) -> Table:
    """Every statistic of the other model minus that of this one, over the rows of a source."""
    layer, head = _heads(two)
    other, own = (model.head_statistic.sel(source=source) for model in (two.other, two.own))
    return _named(layer, head) | {
        name: (other.sel(statistic=name).values - own.sel(statistic=name).values).ravel()
        for name in varying_statistics(source)
    }


def _changed_most(changed: Changes) -> Table:
    """The statistic that changed most in each head, with its unit."""
    names, most = changed.most.ravel(), changed.most_difference
    return {
        "most_changed": names,
        "most_changed_unit": np.array([STATISTICS[name].unit for name in names], object),
        "most_changed_a": most.own.ravel(),
        "most_changed_b": most.other.ravel(),
        "most_changed_difference": most.change.mean.ravel(),
        "most_changed_difference_low": most.change.low.ravel(),
        "most_changed_difference_high": most.change.high.ravel(),
    }


def _heads(two: ModelPair) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    layer, head = np.divmod(np.arange(two.own.layers * two.own.heads), two.own.heads)
    return layer, head


def _named(layer: NDArray[np.int64], head: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    names = np.array([head_name(*place) for place in zip(layer.tolist(), head.tolist(), strict=True)], object)
    return {"layer": layer, "head": head, "name": names}
