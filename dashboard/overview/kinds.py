"""Examples of kinds of heads: the clearest head of each with two sentences; and heads that attend to sinks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.sentence.finder import sentence_means
from dashboard.statistics.kinds import Kind, kinds_of, largest_values
from dashboard.ui.work import watched
from dashboard.web.results import cached
from store import Corpus
from store.phrases import many

#: Tokens of an example, [CLS] and [SEP] included: enough for a sentence, few enough to read at a glance.
FEWEST, MOST = 7, 12
#: A head attends to sinks where they get more than this share of its attention.
SINK_SHARE = 0.5


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
def examples_of(corpus: Corpus) -> tuple[KindExample, ...]:
    """One example of each kind."""
    counting = f"Counting {many(corpus.n_tokens, 'token')}"
    return tuple(_example(corpus, kind) for kind in watched(kinds_of(corpus), counting))


def _example(corpus: Corpus, kind: Kind) -> KindExample:
    layer, head = kind.heads[0]
    means = (
        sentence_means(corpus, kind.statistic, layer, head) / largest_values(corpus, kind.label)[: corpus.n_sentences]
    )
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
