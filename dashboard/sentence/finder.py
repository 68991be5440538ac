"""Finding sentences of the corpus: by words of their text, by label and length, and by what a head does in them."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.heads.definitions import telling
from dashboard.once import once
from dashboard.pictures.search import sentences_with
from dashboard.pictures.texts import folded, spaced
from dashboard.recent import Recent
from store import STATISTICS, Corpus

#: Sentences that are listed.
LISTED = 20
#: Words and phrases that are sought at most, and rankings of the sentences that are kept.
MOST_TERMS, KEPT = 8, 16
#: Statistics by which sentences are ranked; what all tokens of a sentence receive together is the same in each.
RANKED = tuple(telling("all"))
_TERM = re.compile(r'"([^"]+)"|(\S+)')


@dataclass(frozen=True)
class Wanted:
    """What a sentence has to be like; everything by default.

    `words` all occur in its text, in any order, in any case, also inside of words; what stands between quotes as it stands;
    more than `MOST_TERMS` of them are not sought.
    `by` is the statistic by whose mean over the sentence's tokens a head's sentences are ranked.
    """

    words: str = ""
    label: str = ""
    fewest: int | None = None
    most: int | None = None
    by: str = ""

    def __bool__(self) -> bool:
        return bool(self.words or self.label or self.fewest is not None or self.most is not None or self.by)


@dataclass(frozen=True)
class Line:
    """A sentence that was found; `value` is its statistic, NaN where it is not ranked."""

    sentence: int
    label: str
    tokens: int
    text: str
    value: float


@dataclass(frozen=True)
class FoundSentences:
    """How many sentences are as wanted, and the first of them."""

    count: int
    lines: tuple[Line, ...]


def find_sentences(corpus: Corpus, wanted: Wanted, *, layer: int, head: int, limit: int = LISTED) -> FoundSentences:
    """Sentences as wanted: those in which the head does most of `wanted.by` first, else in the order of the corpus."""
    found = np.flatnonzero(_as_wanted(corpus, wanted))
    values = np.full(corpus.n_sentences, np.nan)
    if wanted.by:
        values = sentence_means(corpus, wanted.by, layer, head)
        found = found[np.argsort(-values[found], kind="stable")]
    return FoundSentences(len(found), tuple(_line(corpus, int(one), values) for one in found[:limit]))


def terms(words: str) -> list[str]:
    """What is sought in the text, each once, as the text is folded."""
    each = (folded(spaced(quoted or word)) for quoted, word in _TERM.findall(words))
    return list(dict.fromkeys(term for term in each if term))


def sentence_means(corpus: Corpus, statistic: str, layer: int, head: int) -> NDArray[np.float64]:
    """Mean of a statistic over the tokens of every sentence, in one head: (sentence,)."""
    return _recent_means(corpus).get((statistic, layer, head), lambda: _sentence_means(corpus, statistic, layer, head))


@once
def _recent_means(_corpus: Corpus) -> Recent[NDArray[np.float64]]:
    return Recent(KEPT)


def _sentence_means(corpus: Corpus, statistic: str, layer: int, head: int) -> NDArray[np.float64]:
    read = corpus.token_statistic.variable
    place = list(STATISTICS).index(statistic)
    values = read[place, layer, head].values.astype(np.float64)[corpus.rows]
    sentence = corpus.tokens.sentence_index.values[corpus.rows]
    means: NDArray[np.float64] = np.bincount(sentence, values, corpus.n_sentences) / np.bincount(sentence)
    return means


def _as_wanted(corpus: Corpus, wanted: Wanted) -> NDArray[np.bool_]:
    sizes = corpus.sentences.row_size.values
    there = np.ones(corpus.n_sentences, bool)
    for term in terms(wanted.words)[:MOST_TERMS]:
        there &= sentences_with(corpus, term)
    if wanted.label:
        names = corpus.label_names
        there &= corpus.sentences.label.values == (names.index(wanted.label) if wanted.label in names else -2)
    if wanted.fewest is not None:
        there &= sizes >= wanted.fewest
    if wanted.most is not None:
        there &= sizes <= wanted.most
    return there


def _line(corpus: Corpus, sentence: int, values: NDArray[np.float64]) -> Line:
    return Line(
        sentence=sentence,
        label=corpus.label_name(sentence),
        tokens=int(corpus.sentences.row_size.values[sentence]),
        text=str(corpus.sentences.text.values[sentence]),
        value=float(values[sentence]),
    )
