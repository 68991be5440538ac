"""The two models that are compared: what both have, cached results, common sentences, means with intervals, and their names on a page.

A page names them A and B, each with a colour of its own (compare.css).
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.web.bounds import compared_model, names_of
from dashboard.web.context import Context
from dashboard.web.results import current_cache
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.intervals import PERCENTILES, Segments, draw_counts, find_segments
from store.kernels.statistics import source_rows
from store.phrases import many
from store.schema.model import SOURCES

T = TypeVar("T")
#: Seed of the bootstrap: the same at every call, so that a number is the same wherever it is shown.
SEED = 0
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ModelPair:
    """The model of the link and another one on the same corpus, compared on the sentences both have."""

    own: Corpus
    other: Corpus

    @property
    def names(self) -> tuple[str, str]:
        """Their names; their keys where both have the same name."""
        return names_of(self.own, self.other)

    @property
    def sentences(self) -> int:
        """Number of common sentences: the first of the corpus."""
        return min(self.own.n_sentences, self.other.n_sentences)

    @property
    def tokens(self) -> int:
        """Number of common tokens."""
        return min(self.own.n_tokens, self.other.n_tokens)

    @property
    def counted_sentences(self) -> int:
        """Number of common sentences, also of those without vectors."""
        return min(self.own.counted_sentences, self.other.counted_sentences)

    @property
    def counted_tokens(self) -> int:
        """Number of common tokens, also of those without vectors."""
        return min(self.own.counted_tokens, self.other.counted_tokens)

    @property
    def same_heads(self) -> bool:
        """Whether every head has a counterpart in the same layer with the same number."""
        return (self.own.layers, self.own.heads) == (self.other.layers, self.other.heads)

    @property
    def same_size(self) -> bool:
        """Whether hidden vectors have as many features."""
        return hidden_size(self.own) == hidden_size(self.other)

    def differences(self) -> list[str]:
        """A sentence on each thing that cannot be compared because the models' shapes differ."""
        return [*self._of_heads(), *self._of_size()]

    def _of_heads(self) -> list[str]:
        if self.same_heads:
            return []
        (own, other), names = (
            (f"{model.layers} layers of {model.heads} heads" for model in (self.own, self.other)),
            self.names,
        )
        return [
            f"{names[0]} has {own}, {names[1]} {other}: their heads have no counterparts. Below are means over all heads, and feature points."
        ]

    def _of_size(self) -> list[str]:
        if self.same_size:
            return []
        own, other = hidden_size(self.own), hidden_size(self.other)
        return [f"Hidden vectors have {own} and {other} features: CKA can compare them, cosine cannot."]


def pair_of(context: Context) -> ModelPair | None:
    """The models of a link, by default the last ingested on the same corpus; None where there is no other."""
    other = compared_model(context.snapshot, context.corpus, context.state.other)
    return ModelPair(context.corpus, other) if other else None


def pictures_of(state: LinkState, two: ModelPair) -> str:
    """The kind of pictures: of a head where heads have counterparts, else of a feature point."""
    return state.pictures if two.same_heads else "point"


def hidden_size(corpus: Corpus) -> int:
    """Size of a model's hidden vectors."""
    return int(corpus.attributes["config"]["hidden_size"])


def cached_result(two: ModelPair, key: Hashable, compute: Callable[[], T]) -> T:
    """The result of `compute`, cached under the other model's name and `key`."""
    return current_cache().get(two.own, _key(two, key), compute)


def _key(two: ModelPair, key: Hashable) -> Hashable:
    return "compare", two.other.name, key


@dataclass(frozen=True)
class Sample:
    """The first sentences of the corpus.

    Attributes
    ----------
    start, size
        First row on the token axis and number of tokens of each sentence: (sentence,).
    """

    start: NDArray[np.int64]
    size: NDArray[np.int32]

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return len(self.size)

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return int(self.size.sum())

    @property
    def rows(self) -> NDArray[np.int64]:
        """Their rows on the token axis, without padding between blocks: (token,)."""
        within = np.arange(self.tokens) - np.repeat(np.cumsum(self.size) - self.size, self.size)
        return np.repeat(self.start, self.size) + within


def sample_of(two: ModelPair, tokens: int) -> Sample:
    """The first common sentences that have at most `tokens` tokens together, but at least one."""
    sentences = two.own.sentences.isel(sentence=slice(0, two.sentences))
    sizes = sentences.row_size.values
    count = max(1, int(np.searchsorted(np.cumsum(sizes), tokens, side="right")))
    return Sample(sentences.row_start.values[:count], sizes[:count])


def segments_of(two: ModelPair, sample: Sample, source: str) -> Segments:
    """The rows of a source among the sample's tokens, sentence by sentence."""
    flags = two.own.tokens.token_flags.values[sample.rows]
    rows = source_rows(flags, np.ones(len(flags), bool))[SOURCES.index(source)]
    return find_segments(rows, sample.size)


def sample_caption(two: ModelPair, sample: Sample) -> str:
    """The size of a sample in words."""
    sentences, tokens = many(two.counted_sentences, "sentence"), many(two.counted_tokens, "token")
    every = "all" if sample.sentences == two.counted_sentences else "the first"
    return f"{every} {sample.sentences:,} of {sentences} ({sample.tokens:,} of {tokens}) of both models"


@dataclass(frozen=True, eq=False)
class MeanInterval:
    """Means and the ends of their 95% intervals, of one shape; NaN ends for fewer than two sentences."""

    mean: Floats
    low: Floats
    high: Floats


def mean_interval(values: NDArray[np.floating]) -> MeanInterval:
    """Means of numbers (sentence, ...) with equal weights; differences of two models are paired by sentence.

    The interval is the percentiles of bootstrap means with Poisson(1) counts of the sentences (`store.kernels.intervals`).
    """
    sentences, *shape = values.shape
    none = np.full(shape, np.nan)
    if not sentences:
        return MeanInterval(none, none, none)
    flat = values.reshape(sentences, -1).astype(np.float64)
    low, high = (end.reshape(shape) for end in _ends(flat)) if sentences > 1 else (none, none)
    return MeanInterval(flat.mean(axis=0).reshape(shape), low, high)


def _ends(flat: Floats) -> tuple[Floats, Floats]:
    """Ends of the intervals (number,) of numbers (sentence, number)."""
    counts = draw_counts(SEED, 0, len(flat)).astype(np.float64)
    total = counts.sum(axis=0)
    means = (counts.T @ flat)[total > 0] / total[total > 0, None]
    low, high = np.percentile(means, PERCENTILES, axis=0)
    return low, high


#: The model of the link and the other one.
LETTERS = ("A", "B")
#: What differences are.
MINUS = "B - A"


def lettered(two: ModelPair) -> tuple[str, str]:
    """Both names as text: `A: bert-base`, `B: bert-tuned`."""
    own, other = (f"{letter}: {name}" for letter, name in zip(LETTERS, two.names, strict=True))
    return own, other


def of_both(values: Sequence[float]) -> str:
    """A number of each model: `A 0.86, B 0.87`; of those that have one."""
    each = zip(LETTERS, values, strict=True)
    return ", ".join(f"{letter} {value:.2f}" for letter, value in each if value == value)


def badge(place: int) -> html.Span:
    """The letter of a model, 0 or 1, on its colour."""
    return html.Span(LETTERS[place], className=f"model-letter {LETTERS[place].lower()}")


def marked(two: ModelPair, place: int) -> html.Span:
    """The letter of a model with its name."""
    return html.Span([badge(place), " ", html.Span(two.names[place])], className="model-name")
