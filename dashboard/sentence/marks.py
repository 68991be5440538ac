"""Pairs of tokens that a reader marks on page Sentence, each in its own colour: from a link to places in the views."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from dashboard.points.picture import marked_ends
from dashboard.sentence.sentence import PatternOptions, Sentence, Unit, unhidden_units
from dashboard.ui.theme import CATEGORIES, COLOURED
from dashboard.web.state import LinkState

#: Colours of the marked pairs in their order, by scheme.
MARK_COLOURS = {scheme: list(colours) for scheme, colours in CATEGORIES.items()}
_MORE = f"The link marks {{}} pairs; the first {COLOURED} are shown, as more colours cannot be told apart."


@dataclass(frozen=True)
class MarkedPair:
    """A marked pair of a query and a key.

    Attributes
    ----------
    positions, names
        Positions of the query and of the key in the sentence, and their names: wordpieces or words.
    query, key
        Indices among the shown queries and keys; None for a hidden token, or a token beyond the window.
    """

    positions: tuple[int, int]
    names: tuple[str, str]
    query: int | None
    key: int | None


def marked_pairs(
    state: LinkState, sentence: Sentence, options: PatternOptions, shown: tuple[Sequence[Unit], Sequence[Unit]]
) -> list[MarkedPair]:
    """The marked pairs of a link that the sentence has, at most one for each colour; `shown` are the shown queries and keys."""
    every, _ = unhidden_units(sentence, PatternOptions(words=options.words))
    names = {position: unit.name for unit in every for position in unit.positions}
    queries, keys = shown
    return [
        MarkedPair((query, key), (names[query], names[key]), _index(queries, query), _index(keys, key))
        for query, key in list(_pairs(state, sentence))[:COLOURED]
    ]


def marks_notice(state: LinkState, sentence: Sentence) -> tuple[str, ...]:
    """A notice where a link marks more pairs than there are colours; else empty."""
    count = len(list(_pairs(state, sentence)))
    return (_MORE.format(count),) if count > COLOURED else ()


def _pairs(state: LinkState, sentence: Sentence) -> Iterator[tuple[int, int]]:
    """Positions of the query and key of each marked pair, once; two words make a pair of each wordpiece with each."""
    words, _ = unhidden_units(sentence, PatternOptions(words=True))
    ends = ([_positions(end, words) for end in pair] for pair in marked_ends(state.marks))
    each = dict.fromkeys(pair for queries, keys in ends for pair in product(queries, keys))
    return (pair for pair in each if max(pair) < len(sentence.wordpieces))


def _positions(end: str, words: Sequence[Unit]) -> tuple[int, ...]:
    """The positions of an end of a pair: its number, or those of the first word with this spelling; none without such a word."""
    if end.isdecimal():
        return (int(end),)
    return next((word.positions for word in words if word.name.casefold() == end.casefold()), ())


def _index(units: Sequence[Unit], position: int) -> int | None:
    """Index of the wordpiece or word that has a position; None where `units` have no such position."""
    return next((index for index, unit in enumerate(units) if position in unit.positions), None)
