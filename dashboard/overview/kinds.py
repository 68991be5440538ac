"""Kinds of heads: how many have each label, the clearest head of each, and what its attention usually looks like."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.sentence.finder import sentence_means
from dashboard.web.cache import cached
from store import STATISTICS, Corpus
from store.kernels.labels import LABELS, THRESHOLDS

#: Label -> what heads with it do.
BEHAVIOURS: Mapping[str, str] = {
    "next": "attend to the next token",
    "previous": "attend to the previous token",
    "self": "attend to the token itself",
    "broad": "attend broadly",
    "[CLS]": "attend to [CLS]",
    "[SEP]": "attend to [SEP]",
    "punctuation": "attend to . and ,",
}
#: Label -> its statistic in words, where that is taken as a share of the largest possible value.
OF_LARGEST: Mapping[str, str] = {"broad": "entropy relative to uniform attention"}
#: Tokens of an example, [CLS] and [SEP] included: enough for a sentence, few enough to read at a glance.
FEWEST, MOST = 7, 12
#: A head attends to sinks where they get more than this share of its attention.
SINK_SHARE = 0.5


@dataclass(frozen=True)
class Kind:
    """Heads with one label: (layer, head) and value of the label's statistic of each, the largest value first.

    Entropy is a share of that of uniform attention, as in the rule of the label: in longer sentences it is larger.
    """

    label: str
    heads: tuple[tuple[int, int], ...]
    values: tuple[float, ...]

    @property
    def statistic(self) -> str:
        """The statistic that the label is a threshold of."""
        return THRESHOLDS[self.label][0]

    @property
    def title(self) -> str:
        """What the values are, all of them shares."""
        return OF_LARGEST.get(self.label, STATISTICS[self.statistic].title)


@dataclass(frozen=True)
class KindExample:
    """The clearest head of a kind with two sentences of the corpus, and the mean of its statistic in each.

    `typical` is the sentence nearest to the mean of all, `unusual` the one farthest below it.
    """

    kind: Kind
    typical: int
    unusual: int
    value: float
    lowest: float

    @property
    def head(self) -> tuple[int, int]:
        """Layer and number of the head."""
        return self.kind.heads[0]


@cached
def kinds_of(corpus: Corpus) -> tuple[Kind, ...]:
    """The kinds with a head, those of most heads first."""
    each = (_kind(corpus, label) for label in LABELS)
    return tuple(sorted((kind for kind in each if kind.heads), key=lambda kind: -len(kind.heads)))


def _kind(corpus: Corpus, label: str) -> Kind:
    statistic, _ = THRESHOLDS[label]
    means = corpus.head_statistic.sel(source="all", statistic=statistic).values
    heads = np.argwhere(corpus.head_labels.values == label)
    values = means[tuple(heads.T)] / _largest(corpus, label).mean()
    order = np.argsort(-values, kind="stable")
    return Kind(label, tuple((int(layer), int(head)) for layer, head in heads[order]), tuple(values[order].tolist()))


def _largest(corpus: Corpus, label: str) -> NDArray[np.float64]:
    """The largest possible value in each sentence: (sentence,)."""
    sizes = corpus.sentences.row_size.values
    return np.log(sizes) if label in OF_LARGEST else np.ones(len(sizes))


@cached
def examples_of(corpus: Corpus) -> tuple[KindExample, ...]:
    """One example of each kind."""
    return tuple(_example(corpus, kind) for kind in kinds_of(corpus))


def _example(corpus: Corpus, kind: Kind) -> KindExample:
    layer, head = kind.heads[0]
    means = sentence_means(corpus, kind.statistic, layer, head) / _largest(corpus, kind.label)
    readable = _readable(corpus.sentences.row_size.values)
    typical = int(readable[np.abs(means[readable] - kind.values[0]).argmin()])
    unusual = int(readable[means[readable].argmin()])
    return KindExample(kind, typical, unusual, float(means[typical]), float(means[unusual]))


def _readable(sizes: NDArray[np.integer]) -> NDArray[np.intp]:
    """Sentences of `FEWEST` to `MOST` tokens; where there are none, those of the size next to that."""
    away = np.maximum(sizes - MOST, 0) + np.maximum(FEWEST - sizes, 0)
    return np.flatnonzero(away == away.min())


def heads_on_sinks(corpus: Corpus) -> int:
    """Number of heads that give most of their attention to sinks."""
    return int((corpus.head_statistic.sel(source="all", statistic="to_sink").values > SINK_SHARE).sum())
