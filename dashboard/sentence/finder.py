"""Finding sentences of the corpus: by words of their text, by label and length, and ranked by a number of each."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.points.search import folded, sentences_with, spaced
from dashboard.statistics.definitions import telling
from dashboard.statistics.statistics import spell
from dashboard.web.cache import cached
from store import STATISTICS, Corpus

#: Sentences that are listed.
LISTED = 20
#: Words and phrases that are sought at most.
MOST_TERMS = 8
#: Statistics by which sentences are ranked; what all tokens of a sentence receive together is the same in each.
RANKED = tuple(telling("all"))
#: What stands for no ranking in a link.
ORDER = "order"
_TERM = re.compile(r'"([^"]+)"|(\S+)')


@dataclass(frozen=True)
class Wanted:
    """What a sentence has to be like; everything by default.

    `words` all occur in its text, in any order, in any case, also inside of words; what stands between quotes as it stands;
    more than `MOST_TERMS` of them are not sought.
    """

    words: str = ""
    label: str = ""
    fewest: int | None = None
    most: int | None = None

    def __bool__(self) -> bool:
        return bool(self.words or self.label or self.fewest is not None or self.most is not None)


@dataclass(frozen=True, eq=False)
class Ranking:
    """A number of every sentence, from the first on (sentence,): those with the largest come first.

    `title` says what it is, `spell` writes one of them for a person.
    """

    title: str
    values: NDArray[np.floating]
    spell: Callable[[float], str]


@dataclass(frozen=True)
class Line:
    """A sentence that was found; `value` is what it is ranked by, NaN where it is not."""

    sentence: int
    label: str
    tokens: int
    text: str
    value: float


@dataclass(frozen=True)
class FoundSentences:
    """How many of how many sentences are as wanted, and the first of them."""

    count: int
    among: int
    lines: tuple[Line, ...]


def find_sentences(
    corpus: Corpus, wanted: Wanted, *, among: int, ranking: Ranking | None = None, limit: int = LISTED
) -> FoundSentences:
    """Those of the first `among` sentences that are as wanted, ranked or in the order of the corpus."""
    found = np.flatnonzero(_as_wanted(corpus, wanted)[:among])
    values = np.full(among, np.nan) if ranking is None else ranking.values
    if ranking:
        found = found[np.argsort(-values[found], kind="stable")]
    return FoundSentences(
        len(found), among, tuple(_line(corpus, int(one), float(values[one])) for one in found[:limit])
    )


def statistic_ranking(corpus: Corpus, statistic: str, layer: int, head: int) -> Ranking:
    """By how much a head does of something in a sentence."""
    title, unit = STATISTICS[statistic].title, STATISTICS[statistic].unit
    return Ranking(title, sentence_means(corpus, statistic, layer, head), lambda value: spell(value, unit))


def terms(words: str) -> list[str]:
    """What is sought in the text, each once, as the text is folded."""
    each = (folded(spaced(quoted or word)) for quoted, word in _TERM.findall(words))
    return list(dict.fromkeys(term for term in each if term))


@cached
def sentence_means(corpus: Corpus, statistic: str, layer: int, head: int) -> NDArray[np.float64]:
    """Mean of a statistic over the tokens of every sentence, in one head: (sentence,)."""
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


def _line(corpus: Corpus, sentence: int, value: float) -> Line:
    return Line(
        sentence=sentence,
        label=corpus.label_name(sentence),
        tokens=int(corpus.sentences.row_size.values[sentence]),
        text=str(corpus.sentences.text.values[sentence]),
        value=value,
    )
