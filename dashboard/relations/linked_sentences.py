"""Sentences of the corpus in which a head makes most links of a kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.notes.listing import note_panels
from dashboard.notes.target import PairTarget
from dashboard.relations.data import (
    TWO_WORDS,
    WordOfSentence,
    ends_of,
    strongest_of,
    word_of_sentence,
)
from dashboard.ui.controls import action
from dashboard.ui.markup import heading, scrolling
from dashboard.ui.text import naming
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.relations import DIRECTIONS, StrongestWords, WordPairs, linked
from store.phrases import many
from store.schema.corpus import ALL
from store.schema.model import head_name
from store.text import Window
from store.words import ANY, LEFT_OUT, Words

#: Number of listed sentences.
LISTED = 10
#: Most pairs of a sentence that can have a note.
NOTED = 20


class WordPair(NamedTuple):
    """Two words by their rows of the word axis; a head links them where the first attends most to the second."""

    source: int
    target: int


class LinkedPairs(NamedTuple):
    """The links of a kind that a head makes, and the sentence of every possible link: one for each pair or first word."""

    links: WordPairs
    possible: NDArray[np.integer]


@dataclass(frozen=True)
class NamedKind:
    """The pairs of a relation or a pattern, linked in one of `DIRECTIONS`."""

    relation: str
    direction: str

    #: Name of the things that a head can link.
    counted = "pair"

    @property
    def ends(self) -> tuple[str, str]:
        """Names of the two words of a pair."""
        return ends_of(self.relation)

    @property
    def named(self) -> str:
        """The name of the relation in the data; empty for all relations."""
        return "" if self.relation == ALL else self.relation

    @property
    def such(self) -> str:
        """Words after "links" in a sentence; empty for all relations."""
        return f"of {self.named}" if self.named else ""

    def linked_pairs(self, words: Words, strongest: StrongestWords) -> LinkedPairs:
        """Links of this kind by a head, from the strongest words of the head (word,)."""
        pairs = words.dependencies if self.relation == ALL else words.find_pairs(self.relation)
        return LinkedPairs(pairs.only(linked(strongest, pairs)[list(DIRECTIONS).index(self.direction)]), pairs.sentence)


@dataclass(frozen=True)
class CommonKind:
    """What marked pairs have in common; the first word of a link attends to the second.

    Attributes
    ----------
    first, last
        Parts of speech of both words, or `ANY`.
    joined
        Whether a dependency joins the words of every pair.
    label
        The label of the dependencies where all have the same label and direction; "" otherwise.
    up
        Whether the first word is the dependent; None where it is the dependent in some pairs and the governor in others.
    """

    first: str
    last: str
    joined: bool
    label: str = ""
    up: bool | None = True

    ends = TWO_WORDS
    such = "like the marked pairs"
    named = ""

    @property
    def counted(self) -> str:
        """Name of the things that a head can link: pairs that a dependency joins, else first words."""
        return "pair" if self.joined else "first word"

    @property
    def pattern(self) -> str:
        """The parts of speech as a pattern, such as `ADJ -> NOUN`."""
        return f"{self.first} -> {self.last}"

    @property
    def says_something(self) -> bool:
        """Whether a head can miss such links: without a dependency, a pair whose last word is `ANY` is always linked."""
        return self.joined or self.last != ANY

    def linked_pairs(self, words: Words, strongest: StrongestWords) -> LinkedPairs:
        """Links of this kind by a head, from the strongest words of the head (word,)."""
        return self._joined_pairs(words, strongest) if self.joined else self._strongest_pairs(words, strongest)

    def _joined_pairs(self, words: Words, strongest: StrongestWords) -> LinkedPairs:
        pairs = words.find_pairs(self.pattern)
        if self.label:
            code, governor = words.names("relation").index(self.label), words.table.governor.values
            dependent, other = (pairs.source, pairs.target_word) if self.up else (pairs.target, pairs.source_word)
            pairs = pairs.only((words.table.relation.values[dependent] == code) & (governor[dependent] == other))
        return LinkedPairs(pairs.only(linked(strongest, pairs)[0]), pairs.sentence)

    def _strongest_pairs(self, words: Words, strongest: StrongestWords) -> LinkedPairs:
        """Links from every first word to the word that it attends to most, where this word fits the kind's last word.

        First words are counted, not pairs: a long sentence has too many pairs.
        """
        first, last = (words.matching(end) for end in (self.first, self.last))
        source = np.flatnonzero(first & (strongest.most_attended >= 0))
        sentence = words.table.sentence.values[source]
        target = words.start[sentence] + strongest.most_attended[source]
        links = last[target]
        return LinkedPairs(words.pairs(source[links], target[links]), sentence)


def common_kind(words: Words, pairs: Sequence[WordPair]) -> CommonKind:
    """What pairs have in common; `pairs` has at least one."""
    parts = [{_part_of_speech(words, row) for row in rows} for rows in zip(*pairs, strict=True)]
    ends = [(each.pop() if len(each) == 1 else "") or ANY for each in parts]
    found = [_dependency(words, pair) for pair in pairs]
    labels = {label for label in found if label is not None}
    if None in found:
        return CommonKind(ends[0], ends[1], False)
    sides = {up for _, up in labels}
    label, up = next(iter(labels))[0] if len(labels) == 1 else "", sides.pop() if len(sides) == 1 else None
    return CommonKind(ends[0], ends[1], True, label, up)


def _part_of_speech(words: Words, row: int) -> str:
    code = int(words.table.part_of_speech.values[row])
    return words.names("part_of_speech")[code] if code >= 0 else ""


def _dependency(words: Words, pair: WordPair) -> tuple[str, bool] | None:
    """Label of the dependency that joins two words, and whether the first is the dependent; None without a dependency."""
    governor, place = words.table.governor.values, words.table.word_in_sentence.values
    for dependent, other, up in ((*pair, True), (*pair[::-1], False)):
        if governor[dependent] == place[other]:
            code = int(words.table.relation.values[dependent])
            label = words.names("relation")[code] if code >= 0 else ""
            return None if label.lower() in LEFT_OUT else (label, up)
    return None


Kind = NamedKind | CommonKind


@dataclass(frozen=True)
class LinkedSentence:
    """A sentence: its number of possible links, and the links that a head makes, as indices of their two words."""

    sentence: int
    pairs: int
    links: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class LinkedSentences:
    """The sentences with most links, and the corpus' numbers of links, of possible links, and of sentences with links."""

    rows: tuple[LinkedSentence, ...]
    links: int
    pairs: int
    sentences: int


@cached
def linked_sentences(corpus: Corpus, kind: Kind, layer: int, head: int) -> LinkedSentences:
    """The sentences with most links of a head; at equal numbers, those with the largest share of linked pairs first."""
    links, possible = kind.linked_pairs(corpus.words, strongest_of(corpus, layer, head))
    count, pairs = (np.bincount(each, minlength=corpus.n_sentences) for each in (links.sentence, possible))
    order = np.lexsort((pairs, -count))[:LISTED]
    rows = [_row_of(links, sentence, int(pairs[sentence])) for sentence in order[count[order] > 0].tolist()]
    return LinkedSentences(tuple(rows), len(links.sentence), len(possible), int(np.count_nonzero(count)))


def _row_of(links: WordPairs, sentence: int, pairs: int) -> LinkedSentence:
    own: NDArray[np.intp] = np.flatnonzero(links.sentence == sentence)
    ends = zip(links.source_word[own].tolist(), links.target_word[own].tolist(), strict=True)
    return LinkedSentence(sentence, pairs, tuple(sorted(ends)))


@dataclass(frozen=True)
class BestSentence:
    """The sentence in which a head makes most links, and the first word of its first link."""

    row: LinkedSentence
    place: WordOfSentence


def read_best_sentence(corpus: Corpus, kind: Kind, layer: int, head: int) -> BestSentence | None:
    """The sentence in which a head makes most links; None where the head makes no link."""
    found = linked_sentences(corpus, kind, layer, head)
    return _placed(corpus, found.rows[0]) if found.rows else None


def _placed(corpus: Corpus, row: LinkedSentence) -> BestSentence:
    return BestSentence(row, word_of_sentence(corpus, row.sentence, row.links[0][0]))


@dataclass(frozen=True)
class MostLinked:
    """The sentences in which a head makes most links of a kind.

    Attributes
    ----------
    found
        The sentences and the numbers of links, see `LinkedSentences`.
    sentences
        The listed sentences, each with the first word of its first link.
    words, notes
        Words of each sentence, and its pairs that can have a note.
    """

    kind: Kind
    head: tuple[int, int]
    found: LinkedSentences
    sentences: list[BestSentence]
    words: list[list[str]]
    notes: list[list[PairTarget]]


def read_most_linked(corpus: Corpus, kind: Kind, layer: int, head: int) -> MostLinked:
    """The sentences in which a head makes most links of a kind."""
    found = linked_sentences(corpus, kind, layer, head)
    return MostLinked(
        kind,
        (layer, head),
        found,
        [_placed(corpus, row) for row in found.rows],
        [list(corpus.words.texts(corpus.words.rows(row.sentence))) for row in found.rows],
        [_targets(corpus, kind, row) for row in found.rows],
    )


def _targets(corpus: Corpus, kind: Kind, row: LinkedSentence) -> list[PairTarget]:
    """Linked pairs that can have a note; none for pairs like a marked example, which have no named relation."""
    if not isinstance(kind, NamedKind):
        return []
    pairs = row.links[:NOTED]
    return [PairTarget.of(corpus, row.sentence, *pair, kind.relation, kind.direction) for pair in pairs]


def show_link(state: LinkState, head: tuple[int, int], shown: tuple[int, int]) -> html.Td:
    """A cell of a table: the button that lists the sentences of a head."""
    if head == shown:
        return html.Td("shown")
    href = state.with_(examples="chosen", layer=head[0], head=head[1]).href
    return html.Td(action("show", href, title=f"Show the sentences of {head_name(*head)}"))


def best_sentence(state: LinkState, best: BestSentence | None, head: tuple[int, int]) -> html.Td:
    """A cell of a table: the sentence in which a head makes most links."""
    if best is None:
        return html.Td("none")
    text = f"sentence {best.row.sentence:,}: {len(best.row.links)} of {best.row.pairs}"
    return html.Td(dcc.Link(text, href=best.place.href(state, head)))


def most_linked(state: LinkState, shown: MostLinked) -> list[object]:
    """The section of the sentences in which a head makes most links of a kind."""
    kind, found, name = shown.kind, shown.found, head_name(*shown.head)
    title = f"Sentences where {name} finds the most links {kind.such}".rstrip()
    if not found.rows:
        text = f"{name} makes no such link in the corpus ({many(found.pairs, kind.counted)}). Choose another head."
        return [html.H3(naming(title, kind.named)), html.P(text, className="caption", role="status")]
    caption = (
        f"{found.links:,} of {many(found.pairs, kind.counted)} of the corpus are linked, in {many(found.sentences, 'sentence')}; "
        f"the first {len(found.rows)}. "
    )
    each = zip(shown.sentences, shown.words, shown.notes, strict=True)
    rows = [html.Tr(_row(state, shown, *sentence)) for sentence in each]
    source, target = kind.ends
    table = html.Table([heading(("sentence", "text"), {"sentence"}), html.Tbody(rows)], className="rows found pair")
    return [
        html.H3(naming(title, kind.named)),
        html.P(
            [caption, html.Mark(source, className="dependent"), ", ", html.Mark(target, className="governor")],
            className="caption pair",
            role="status",
        ),
        scrolling(table, title),
    ]


def _row(
    state: LinkState, shown: MostLinked, best: BestSentence, words_of_row: list[str], notes: list[PairTarget]
) -> list[html.Td]:
    row = best.row
    link = dcc.Link(f"{row.sentence:,}", href=best.place.href(state, shown.head))
    share = (
        f"{len(row.links)} of {many(row.pairs, shown.kind.counted)} linked ({100 * len(row.links) / row.pairs:.0f}%)"
    )
    words, below = html.Div(_words(row, words_of_row), dir="auto"), html.Div(share, className="below")
    targets = {f"{target.spelling} ({target.source}, {target.target})": target for target in notes}
    panels = [note_panels(f"pairs-{row.sentence}", targets, "Notes on its pairs")] if targets else []
    text = [words, below, *panels]
    return [html.Td(link, className="number"), html.Td(text, className="text")]


def _words(row: LinkedSentence, words: list[str]) -> list[object]:
    """The words of a sentence, with the words of links marked; a long sentence shows the window around its first link."""
    window = Window.around(row.links[0][0], len(words))
    before, after = (["…"] if cut else [] for cut in (window.first > 0, window.stop < len(words)))
    marks = {target: "governor" for _, target in row.links} | {source: "dependent" for source, _ in row.links}
    shown = [
        html.Mark(word, className=marks[at]) if at in marks else word for at, word in window.of(list(enumerate(words)))
    ]
    return [part for each in (*before, *shown, *after) for part in (each, " ")]
