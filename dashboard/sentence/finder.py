"""Search for sentences by words of the text, label and length, ranked by a statistic: controls and table."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.points.search import folded, sentences_with, spaced
from dashboard.sentence.picture import isolated_head
from dashboard.ui.controls import choice, number, statistic_choice
from dashboard.ui.markup import heading, scrolling
from dashboard.ui.text import first_of, spell
from dashboard.web.results import cached
from dashboard.web.state import ORDER, LinkState
from store import STATISTICS, Corpus
from store.phrases import many
from store.schema.model import head_name, varying_statistics

#: Number of listed sentences.
LISTED = 20
#: Most words and phrases searched for.
MOST_TERMS = 8
#: Statistics that rank sentences; not received attention, whose mean over all tokens is the same in every sentence.
RANKED = tuple(varying_statistics("all"))
#: A phrase in quotes, or a word.
_TERM = re.compile(r'"([^"]+)"|(\S+)')
#: Names of rankings in a link -> titles.
RANKINGS: Mapping[str, str] = {ORDER: "corpus order"} | {name: STATISTICS[name].title for name in RANKED}
ORDERS: Mapping[str, str] = {"largest": "largest first", "smallest": "smallest first"}


@dataclass(frozen=True)
class SentenceFilter:
    """Conditions on sentences; by default every sentence matches.

    All `words` must occur in the text, in any order and case, also within words; a phrase in quotes must occur as written. At most
    `MOST_TERMS` words and phrases are searched for.
    """

    words: str = ""
    label: str = ""
    fewest: int | None = None
    most: int | None = None

    def __bool__(self) -> bool:
        return bool(self.words or self.label or self.fewest is not None or self.most is not None)


@dataclass(frozen=True, eq=False)
class Ranking:
    """A ranking of sentences by a number of each (sentence,).

    `title` names the number, `spell` formats a value. The largest number comes first; where `ascending`, the smallest.
    """

    title: str
    values: NDArray[np.floating]
    spell: Callable[[float], str]
    ascending: bool = False

    def order(self, sentences: NDArray[np.integer]) -> NDArray[np.integer]:
        """The sentences in the order of the ranking; equal values stay in the order of the corpus."""
        values = self.values[sentences]
        return sentences[np.argsort(values if self.ascending else -values, kind="stable")]


@dataclass(frozen=True)
class Line:
    """A matching sentence; `value` is the number that ranks it, NaN without a ranking."""

    sentence: int
    label: str
    tokens: int
    text: str
    value: float


@dataclass(frozen=True)
class MatchingSentences:
    """Numbers of matching and of searched sentences, and the first matching sentences."""

    count: int
    among: int
    lines: tuple[Line, ...]


def find_sentences(
    corpus: Corpus, conditions: SentenceFilter, *, among: int, ranking: Ranking | None = None, limit: int = LISTED
) -> MatchingSentences:
    """Matching sentences among the first `among` of the corpus, ranked or in corpus order."""
    matching = np.flatnonzero(_matching(corpus, conditions, among))
    values = np.full(among, np.nan) if ranking is None else ranking.values
    indices = matching if ranking is None else ranking.order(matching)
    return MatchingSentences(
        len(indices),
        among,
        tuple(line_of(corpus, int(sentence), float(values[sentence])) for sentence in indices[:limit]),
    )


def statistic_ranking(corpus: Corpus, statistic: str, layer: int, head: int) -> Ranking:
    """The ranking by the mean of a head's statistic over the tokens of each sentence."""
    title, unit = STATISTICS[statistic].title, STATISTICS[statistic].unit
    return Ranking(title, sentence_means(corpus, statistic, layer, head), lambda value: spell(value, unit))


def terms(words: str) -> list[str]:
    """The words and phrases to search for, in lower case, each once."""
    each = (folded(spaced(quoted or word)) for quoted, word in _TERM.findall(words))
    return list(dict.fromkeys(term for term in each if term))


@cached
def sentence_means(corpus: Corpus, statistic: str, layer: int, head: int) -> NDArray[np.float64]:
    """Mean of a statistic over the tokens of every sentence, in one head: (sentence,)."""
    read = corpus.token_statistic.variable
    index = list(STATISTICS).index(statistic)
    values = read[index, layer, head].values.astype(np.float64)[corpus.rows]
    sentence = corpus.tokens.sentence_index.values[corpus.rows]
    means: NDArray[np.float64] = np.bincount(sentence, values, corpus.n_sentences) / np.bincount(sentence)
    return means


def _matching(corpus: Corpus, conditions: SentenceFilter, among: int) -> NDArray[np.bool_]:
    sizes = corpus.counted_lengths[:among]
    matching = np.ones(among, bool)
    for term in terms(conditions.words)[:MOST_TERMS]:
        matching &= sentences_with(corpus, term, among)
    if conditions.label:
        names = corpus.label_names
        matching &= corpus.counted_labels[:among] == (
            names.index(conditions.label) if conditions.label in names else -2
        )
    if conditions.fewest is not None:
        matching &= sizes >= conditions.fewest
    if conditions.most is not None:
        matching &= sizes <= conditions.most
    return matching


def line_of(corpus: Corpus, sentence: int, value: float) -> Line:
    """The list entry of a sentence, with the value that ranks it."""
    return Line(
        sentence=sentence,
        label=corpus.label_name(sentence),
        tokens=int(corpus.counted_lengths[sentence]),
        text=corpus.counted_text(sentence),
        value=value,
    )


@dataclass(frozen=True, eq=False)
class Search:
    """The search for sentences on a page.

    Attributes
    ----------
    rankings, by
        Titles of the rankings by name, and the name of the selected one.
    ranking
        The ranking; None in corpus order.
    among
        Number of sentences searched, from the first.
    href
        The link to a sentence.
    note
        A note below the controls.
    head
        Head of the link's layer whose statistic ranks the sentences.
    """

    rankings: Mapping[str, str]
    by: str
    ranking: Ranking | None
    among: int
    href: Callable[[int], str]
    note: str = ""
    head: int = 0


def sentence_filter_of(state: LinkState) -> SentenceFilter:
    """The conditions of a link."""
    return SentenceFilter(state.find or "", state.labelled or "", state.fewest, state.most)


def search_of(corpus: Corpus, link: LinkState) -> Search:
    """The search on page Sentence: in all sentences of the corpus; ranked by the head shown alone, in those with vectors."""
    state = link.with_(head=isolated_head(link))
    ranking = ranking_by(corpus, state.by, state.layer, state.head)
    return Search(
        RANKINGS,
        state.by or ORDER,
        ranking,
        corpus.n_sentences if ranking else corpus.counted_sentences,
        lambda sentence: link.of_sentence(sentence).href,
        head=state.head,
    )


def ranking_by(corpus: Corpus, by: str | None, layer: int, head: int) -> Ranking | None:
    """The ranking by a statistic of a head; None in corpus order."""
    return None if by in (None, ORDER) else statistic_ranking(corpus, str(by), layer, head)


def finder(corpus: Corpus, state: LinkState, search: Search) -> list[object]:
    """The controls and the first matching sentences."""
    conditions = sentence_filter_of(state)
    ranking = search.ranking and replace(search.ranking, ascending=state.first == "smallest")
    matches = find_sentences(corpus, conditions, among=search.among, ranking=ranking)
    longest = int(corpus.corpus_attributes["max_length"])
    among = first_of(corpus, "sentence") if matches.among == corpus.n_sentences else many(matches.among, "sentence")
    return [
        _controls(state, search, corpus.label_names, longest),
        _summary(state, matches, search, among),
        _table(search, matches),
    ]


def _controls(state: LinkState, search: Search, label_names: Sequence[str], longest: int) -> html.Div:
    labels = {"": "any label"} | {name: name for name in label_names}
    words = dmc.TextInput(
        id={"choose": "find", "by": "finder"},
        label="Words",
        placeholder='dull "the film", then Enter',
        value=state.find or "",
        debounce=True,
        size="xs",
        w=200,
    )
    return html.Div(
        [
            words,
            *(
                [choice("labelled", "Label", labels, state.labelled or "", 110, of_data=True)]
                if len(labels) > 1
                else []
            ),
            number("fewest", "min tokens", state.fewest, 1, longest, 1),
            number("most", "max tokens", state.most, 1, longest, 1),
            _ranking_choice(state, search),
            choice("first", "Order", ORDERS, state.first, 120, disabled=search.ranking is None),
        ],
        className="controls",
    )


def _ranking_choice(state: LinkState, search: Search) -> object:
    """The choice of the ranking, with the (i) of a statistic."""
    title = f"Ranked by ({head_name(state.layer, search.head)})"
    if search.by in STATISTICS:
        return statistic_choice("by", title, search.rankings, search.by, 330)
    return choice("by", title, search.rankings, search.by, 330)


def _summary(state: LinkState, matches: MatchingSentences, search: Search, among: str) -> html.P:
    """A line with the number of matching sentences; `among` names the searched sentences."""
    conditions, verb = sentence_filter_of(state), " matches" if matches.count == 1 else " match"
    count = f"{matches.count:,} of {among}{verb if conditions else ''}"
    shown = f"; showing the first {len(matches.lines)}" if matches.count > len(matches.lines) else ""
    cut = f" Only the first {MOST_TERMS} words are searched for." if len(terms(conditions.words)) > MOST_TERMS else ""
    note = f" {search.note}" if search.note else ""
    if not matches.count:
        none = f"None of {among} has {' and '.join(_conditions(conditions))}. "
        return html.P([none, _clear(state), f".{cut}{note}"], role="status")
    return html.P(f"{count}{shown}.{cut}{note}", role="status", className="caption")


def _conditions(conditions: SentenceFilter) -> list[str]:
    """The conditions in words."""
    sought = [f"“{term}”" for term in terms(conditions.words)[:MOST_TERMS]]
    return [
        *([f"the word{'s' if len(sought) > 1 else ''} {', '.join(sought)}"] if sought else []),
        *([f"the label “{conditions.label}”"] if conditions.label else []),
        *([f"at least {many(conditions.fewest, 'token')}"] if conditions.fewest is not None else []),
        *([f"at most {many(conditions.most, 'token')}"] if conditions.most is not None else []),
    ]


def _clear(state: LinkState) -> dcc.Link:
    """A link that clears the conditions."""
    href = state.with_(find=None, labelled=None, fewest=None, most=None).href
    return dcc.Link("Clear the filters", href=href)


def _table(search: Search, matches: MatchingSentences) -> html.Div:
    ranked = [search.ranking.title] if search.ranking else []
    head = heading(["sentence", *ranked, "text"], {"sentence", *ranked})
    body = html.Tbody([_row(search, line) for line in matches.lines])
    return scrolling(html.Table([head, body], className="rows found"), "Matching sentences")


def _row(search: Search, line: Line) -> html.Tr:
    """The row of a sentence; label and length stand below the text, as a narrow column has no room beside it."""
    below = [*([html.Bdi(line.label), ", "] if line.label else []), many(line.tokens, "token")]
    ranked = [html.Td(search.ranking.spell(line.value), className="number")] if search.ranking else []
    return html.Tr(
        [
            html.Td(dcc.Link(f"{line.sentence:,}", href=search.href(line.sentence)), className="number"),
            *ranked,
            html.Td([html.Div(line.text, dir="auto"), html.Div(below, className="below")], className="text"),
        ]
    )
