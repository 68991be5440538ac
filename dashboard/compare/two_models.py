"""The two models that are compared: what both have, their cached results, common sentences, and means with intervals."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dashboard.web.cache import CACHE
from dashboard.web.view import Place, on_same_corpus
from store import Corpus
from store.kernels.bootstrap import PERCENTILES, Segments, draw_counts, find_segments
from store.kernels.statistics import source_rows
from store.schema.model import SOURCES
from store.wording import many

T = TypeVar("T")
#: Which draws: the same at every call, so that a number shown twice is the same number.
SEED = 0
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Two:
    """The model of the link and another one on the same corpus; what is said of both is of the sentences both have."""

    own: Corpus
    other: Corpus

    @property
    def names(self) -> tuple[str, str]:
        """What they are called; by their keys where both have one name."""
        own, other = (str(one.attributes["model_id"]).rstrip("/").rpartition("/")[2] for one in (self.own, self.other))
        return (own, other) if own != other else (self.own.name, self.other.name)

    @property
    def sentences(self) -> int:
        """How many sentences both were run on: the first of the corpus."""
        return min(self.own.n_sentences, self.other.n_sentences)

    @property
    def tokens(self) -> int:
        """Tokens of these sentences."""
        return min(self.own.n_tokens, self.other.n_tokens)

    @property
    def same_heads(self) -> bool:
        """Whether every head has a counterpart in the same layer with the same number."""
        return (self.own.layers, self.own.heads) == (self.other.layers, self.other.heads)

    @property
    def same_size(self) -> bool:
        """Whether hidden vectors have as many features."""
        return hidden_size(self.own) == hidden_size(self.other)

    def differences(self) -> list[str]:
        """A sentence on everything that cannot be compared because the models are of different shapes."""
        return [*self._of_heads(), *self._of_size()]

    def _of_heads(self) -> list[str]:
        if self.same_heads:
            return []
        (one, two), names = (f"{one.layers} layers of {one.heads} heads" for one in (self.own, self.other)), self.names
        return [
            f"{names[0]} has {one}, {names[1]} {two}: their heads have no counterparts, so no two heads are compared. Below are means over all "
            "heads and feature points; each model's own heads are on its other pages."
        ]

    def _of_size(self) -> list[str]:
        if self.same_size:
            return []
        one, two = hidden_size(self.own), hidden_size(self.other)
        return [
            f"Hidden vectors have {one} and {two} features: there is no cosine between them. CKA needs no equal sizes."
        ]


def two_of(place: Place) -> Two | None:
    """Those of a link: without `other` the one ingested last on the same corpus; None where there is none."""
    there = on_same_corpus(place.snapshot, place.corpus)
    other = place.address.other or next(iter(there), None)
    return Two(place.corpus, place.snapshot.corpus(other)) if other else None


def pictures_of(place: Place, two: Two) -> str:
    """Of what there are pictures in both: of heads where these have counterparts, else of feature points alone."""
    return place.address.pictures if two.same_heads else "point"


def hidden_size(corpus: Corpus) -> int:
    """Features of a hidden vector."""
    return int(corpus.attributes["config"]["hidden_size"])


def cached_result(two: Two, what: Hashable, count: Callable[[], T]) -> T:
    """The result of `count`, cached under the other model's name and `what`."""
    return CACHE.get(two.own, _key(two, what), count)


def is_cached(two: Two, what: Hashable) -> bool:
    """Whether it is cached."""
    return CACHE.find(two.own, _key(two, what)) is not None


def _key(two: Two, what: Hashable) -> Hashable:
    return "compare", two.other.name, what


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


def sample_caption(two: Two, sample: Sample) -> str:
    """Which sentences these are, in words."""
    every = "all" if sample.sentences == two.sentences else "the first"
    return f"{every} {sample.sentences:,} of {many(two.sentences, 'sentence')} ({sample.tokens:,} of {many(two.tokens, 'token')}) of both models"


@dataclass(frozen=True, eq=False)
class MeanInterval:
    """Means and the ends of their intervals, all of one shape; NaN ends where there are fewer than two sentences."""

    mean: Floats
    low: Floats
    high: Floats


def mean_interval(values: NDArray[np.floating]) -> MeanInterval:
    """Of numbers (sentence, ...), each sentence weighs the same: a difference of two models is paired in every sentence.

    Percentiles of the means of replicates in which a sentence counts as often as Poisson(1) says
    (`store.kernels.bootstrap`).
    """
    sentences, *shape = values.shape
    none = np.full(shape, np.nan)
    if not sentences:
        return MeanInterval(none, none, none)
    flat = values.reshape(sentences, -1).astype(np.float64)
    low, high = (end.reshape(shape) for end in _ends(flat)) if sentences > 1 else (none, none)
    return MeanInterval(flat.mean(axis=0).reshape(shape), low, high)


def _ends(flat: Floats) -> tuple[Floats, Floats]:
    """(number,) of numbers (sentence, number)."""
    counts = draw_counts(SEED, 0, len(flat)).astype(np.float64)
    total = counts.sum(axis=0)
    means = (counts.T @ flat)[total > 0] / total[total > 0, None]
    low, high = np.percentile(means, PERCENTILES, axis=0)
    return low, high
