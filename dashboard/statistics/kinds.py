"""Kinds of heads: how many have each label, and the clearest head of each."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.web.results import cached
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
    "punctuation": "attend to full stops and commas",
}
#: Label -> its statistic in words, where that is taken as a share of the largest possible value.
OF_LARGEST: Mapping[str, str] = {"broad": "entropy relative to uniform attention"}


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


@cached
def kinds_of(corpus: Corpus) -> tuple[Kind, ...]:
    """The kinds with a head, those of most heads first."""
    each = (_kind(corpus, label) for label in LABELS)
    return tuple(sorted((kind for kind in each if kind.heads), key=lambda kind: -len(kind.heads)))


def _kind(corpus: Corpus, label: str) -> Kind:
    statistic, _ = THRESHOLDS[label]
    means = corpus.head_statistic.sel(source="all", statistic=statistic).values
    heads = np.argwhere(corpus.head_labels.values == label)
    values = means[tuple(heads.T)] / largest_values(corpus, label).mean()
    order = np.argsort(-values, kind="stable")
    return Kind(label, tuple((int(layer), int(head)) for layer, head in heads[order]), tuple(values[order].tolist()))


def largest_values(corpus: Corpus, label: str) -> NDArray[np.float64]:
    """The largest possible value of a label's statistic in each sentence: (counted_sentences,)."""
    sizes = corpus.counted_lengths
    return np.log(sizes) if label in OF_LARGEST else np.ones(len(sizes))
