"""Kinds of word pairs that a head may link: the pairs of a relation or a pattern, and what marked pairs have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashboard.relations.data import ends_of
from store.kernels.relations import DIRECTIONS, StrongestWords, WordPairs, linked
from store.schema.relations import ALL
from store.words import ANY, LEFT_OUT, Words


class WordPair(NamedTuple):
    """Two words by their rows of the word axis, the first of which is to attend to the second."""

    source: int
    target: int


class Made(NamedTuple):
    """The links of a kind that a head makes, and the sentence of every pair (pair,) or word (word,) that could be linked."""

    links: WordPairs
    possible: NDArray[np.integer]


@dataclass(frozen=True)
class NamedKind:
    """The pairs of a relation or a pattern, linked in one of `DIRECTIONS`."""

    relation: str
    direction: str

    #: What can be linked.
    counted = "pair"

    @property
    def ends(self) -> tuple[str, str]:
        """What both words of a pair are called."""
        return ends_of(self.relation)

    @property
    def named(self) -> str:
        """The name that the data has for it."""
        return "" if self.relation == ALL else self.relation

    @property
    def such(self) -> str:
        """After "links"."""
        return f"of {self.named}" if self.named else ""

    def made(self, words: Words, strongest: StrongestWords) -> Made:
        """Its links by a head, from the strongest words (word,)."""
        pairs = words.dependencies if self.relation == ALL else words.find_pairs(self.relation)
        return Made(pairs.only(linked(strongest, pairs)[list(DIRECTIONS).index(self.direction)]), pairs.sentence)


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
        Its label where all have the same one, from the same side; "" otherwise.
    up
        With a label: whether the first word is the dependent.
    """

    first: str
    last: str
    joined: bool
    label: str = ""
    up: bool = True

    ends = ("first word", "second word")
    such = "like the marked pairs"
    named = ""

    @property
    def counted(self) -> str:
        """What can be linked: pairs that a dependency joins, else first words."""
        return "pair" if self.joined else "first word"

    @property
    def pattern(self) -> str:
        """As a pattern of pairs of a corpus."""
        return f"{self.first} -> {self.last}"

    @property
    def says_something(self) -> bool:
        """Whether not just any two words are of this kind."""
        return self.joined or (self.first, self.last) != (ANY, ANY)

    def made(self, words: Words, strongest: StrongestWords) -> Made:
        """Its links by a head, from the strongest words (word,)."""
        return self._of_joined(words, strongest) if self.joined else self._of_any(words, strongest)

    def _of_joined(self, words: Words, strongest: StrongestWords) -> Made:
        pairs = words.find_pairs(self.pattern)
        if self.label:
            code, governor = words.names("relation").index(self.label), words.table.governor.values
            dependent, other = (pairs.source, pairs.target_word) if self.up else (pairs.target, pairs.source_word)
            pairs = pairs.only((words.table.relation.values[dependent] == code) & (governor[dependent] == other))
        return Made(pairs.only(linked(strongest, pairs)[0]), pairs.sentence)

    def _of_any(self, words: Words, strongest: StrongestWords) -> Made:
        """From every first word to the word that it attends to most, where that is such a last word.

        Words are counted, not pairs: in a long sentence there are too many.
        """
        first, last = (words.matching(end) for end in (self.first, self.last))
        source = np.flatnonzero(first & (strongest.most_attended >= 0))
        sentence = words.table.sentence.values[source]
        target = words.start[sentence] + strongest.most_attended[source]
        links = last[target]
        return Made(words.pairs(source[links], target[links]), sentence)


def common_kind(words: Words, pairs: Sequence[WordPair]) -> CommonKind:
    """What pairs have in common, at least one of them."""
    ends = [_one_of([_part_of_speech(words, row) for row in rows]) or ANY for rows in zip(*pairs, strict=True)]
    found = [_dependency(words, pair) for pair in pairs]
    labels = {label for label in found if label is not None}
    label, up = labels.pop() if len(labels) == 1 else ("", True)
    return CommonKind(ends[0], ends[1], True, label, up) if None not in found else CommonKind(ends[0], ends[1], False)


def _one_of(names: list[str]) -> str:
    return names[0] if len(set(names)) == 1 else ""


def _part_of_speech(words: Words, row: int) -> str:
    code = int(words.table.part_of_speech.values[row])
    return words.names("part_of_speech")[code] if code >= 0 else ""


def _dependency(words: Words, pair: WordPair) -> tuple[str, bool] | None:
    """Label of the dependency that joins two words, and whether the first is the dependent; None without any."""
    governor, place = words.table.governor.values, words.table.word_in_sentence.values
    for dependent, other, up in ((*pair, True), (*pair[::-1], False)):
        if governor[dependent] == place[other]:
            code = int(words.table.relation.values[dependent])
            label = words.names("relation")[code] if code >= 0 else ""
            return None if label.lower() in LEFT_OUT else (label, up)
    return None
