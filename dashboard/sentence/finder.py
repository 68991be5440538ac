"""Finding sentences: by words of their text, by label and length, ranked by a statistic; controls and table."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.points.search import folded, sentences_with, spaced
from dashboard.sentence.picture import isolated_head
from dashboard.statistics.definitions import telling
from dashboard.statistics.statistics import spell
from dashboard.ui.controls import choice, number
from dashboard.ui.tables import heading
from dashboard.web.cache import cached
from dashboard.web.state import Address
from dashboard.web.view import Place
from store import STATISTICS, Corpus
from store.schema.model import head_name
from store.wording import many

#: Sentences that are listed.
LISTED = 20
#: Words and phrases that are sought at most.
MOST_TERMS = 8
#: Statistics by which sentences are ranked; what all tokens of a sentence receive together is the same in each.
RANKED = tuple(telling("all"))
#: What stands for no ranking in a link.
ORDER = "order"
_TERM = re.compile(r'"([^"]+)"|(\S+)')
#: Rankings that every page has, by their names in the link.
RANKINGS: Mapping[str, str] = {ORDER: "in their order"} | {name: STATISTICS[name].title for name in RANKED}


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


@dataclass(frozen=True, eq=False)
class Search:
    """The search for sentences on a page.

    Attributes
    ----------
    rankings, by
        Titles of the rankings that can be chosen by their names, and the name of the chosen one.
    ranking
        None where sentences stand in their order.
    among
        How many sentences are looked at, from the first on.
    href
        The link to a sentence.
    says
        What else is to be said of them.
    head
        Of the link's layer; by what it does sentences are ranked.
    """

    rankings: Mapping[str, str]
    by: str
    ranking: Ranking | None
    among: int
    href: Callable[[int], str]
    says: str = ""
    head: int = 0


def wanted_of(address: Address) -> Wanted:
    """What the link asks of a sentence."""
    return Wanted(address.find or "", address.labelled or "", address.fewest, address.most)


def search_of(place: Place) -> Search:
    """On page Sentence: all sentences of the corpus, which open there, ranked in the head whose lines are drawn alone."""
    address = place.address.with_(head=isolated_head(place))
    ranking = ranking_by(place, address.by, address.head)
    return Search(
        RANKINGS,
        address.by or ORDER,
        ranking,
        place.corpus.n_sentences,
        lambda sentence: place.address.of_sentence(sentence).href,
        head=address.head,
    )


def ranking_by(place: Place, by: str | None, head: int) -> Ranking | None:
    """By a statistic of a head of the link's layer; None where sentences stand in their order."""
    if by in (None, ORDER):
        return None
    return statistic_ranking(place.corpus, str(by), place.address.layer, head)


def choices(place: Place) -> tuple[dict[str, object], dict[str, object]]:
    """What the control of the ranking stands at, and where it stands by default."""
    return {"by": place.address.by or ORDER}, {"by": ORDER}


def finder(place: Place, search: Search) -> list[object]:
    """The controls and the first sentences found."""
    wanted = wanted_of(place.address)
    found = find_sentences(place.corpus, wanted, among=search.among, ranking=search.ranking)
    return [_controls(place, search), _said(place, wanted, found, search), _table(search, found)]


def _controls(place: Place, search: Search) -> html.Div:
    address, corpus = place.address, place.corpus
    labels = {"": "any label"} | {name: name for name in corpus.label_names}
    longest = int(corpus.corpus_attributes["max_length"])
    words = dmc.TextInput(
        id={"choose": "find", "by": "finder"},
        label="Words in it",
        placeholder='dull "the film", then Enter',
        value=address.find or "",
        debounce=True,
        size="xs",
        w=200,
    )
    return html.Div(
        [
            words,
            *([choice("labelled", "Label", labels, address.labelled or "", 110)] if len(labels) > 1 else []),
            number("fewest", "tokens from", address.fewest, 1, longest, 1),
            number("most", "to", address.most, 1, longest, 1),
            choice("by", f"Most, in {head_name(address.layer, search.head)}", search.rankings, search.by, 190),
        ],
        className="controls",
    )


def _said(place: Place, wanted: Wanted, found: FoundSentences, search: Search) -> html.P:
    match = " matches" if found.count == 1 else " match"
    count = f"{found.count:,} of {many(found.among, 'sentence')}{match if wanted else ''}"
    shown = f"; the first {len(found.lines)} are listed" if found.count > len(found.lines) else ""
    cut = f" Only the first {MOST_TERMS} words are sought." if len(terms(wanted.words)) > MOST_TERMS else ""
    says = f" {search.says}" if search.says else ""
    if not found.count:
        none = f"None of {many(found.among, 'sentence')} has {' and '.join(_conditions(wanted))}. "
        return html.P([none, _clear(place), f".{cut}{says}"], role="status")
    return html.P(f"{count}{shown}.{cut}{says}", role="status", className="caption")


def _conditions(wanted: Wanted) -> list[str]:
    """What is asked of a sentence, in words."""
    sought = [f"“{term}”" for term in terms(wanted.words)[:MOST_TERMS]]
    return [
        *([f"the word{'s' if len(sought) > 1 else ''} {', '.join(sought)}"] if sought else []),
        *([f"the label “{wanted.label}”"] if wanted.label else []),
        *([f"at least {many(wanted.fewest, 'token')}"] if wanted.fewest is not None else []),
        *([f"at most {many(wanted.most, 'token')}"] if wanted.most is not None else []),
    ]


def _clear(place: Place) -> dcc.Link:
    """To the same page without a condition."""
    href = place.address.with_(find=None, labelled=None, fewest=None, most=None).href
    return dcc.Link("Clear the conditions", href=href)


def _table(search: Search, found: FoundSentences) -> html.Div:
    ranked = [search.ranking.title] if search.ranking else []
    head = heading(["sentence", *ranked, "text", "label", "tokens"], {"sentence", *ranked, "tokens"})
    body = html.Tbody([_row(search, line) for line in found.lines])
    return html.Div(
        html.Table([head, body], className="rows found"),
        className="scroll",
        tabIndex=0,
        role="region",
        **{"aria-label": "Sentences found"},
    )


def _row(search: Search, line: Line) -> html.Tr:
    ranked = [html.Td(search.ranking.spell(line.value), className="number")] if search.ranking else []
    return html.Tr(
        [
            html.Td(dcc.Link(f"{line.sentence:,}", href=search.href(line.sentence)), className="number"),
            *ranked,
            html.Td(line.text, dir="auto", className="text"),
            html.Td(line.label),
            html.Td(f"{line.tokens:,}", className="number"),
        ]
    )
