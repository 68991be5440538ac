"""What is counted of coreference: mentions with an antecedent, or pronouns of GAP, and which of them a head resolves."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from store.kernels.coreference import (
    Description,
    GapRow,
    baseline_found,
    describe,
    found_among_mentions,
    found_among_words,
    found_of_two,
)
from store.schema.array import Array
from store.schema.coreference import (
    BASELINES,
    CANDIDATES,
    CHAINS,
    COREFERENCE_ARRAYS,
    EVERY,
    GAP,
    GAP_ARRAYS,
    GAP_BASELINES,
    GENDER_NAMES,
    KINDS,
)
from store.words import Mentions, Words

FINDERS = {"mentions": found_among_mentions, "words": found_among_words}
#: Relations of a subject and of an object: the rule of GAP looks for a name in the same role.
ROLES = (("nsubj", "nsubjpass", "nsubj:pass"), ("dobj", "obj"))


class Antecedents(Protocol):
    """Items to be resolved, each in one sentence and in some groups.

    Attributes
    ----------
    scheme
        How the mentions stand in the data: `chains` or `gap`.
    arrays, names
        Declarations of what is stored, and the labels of its own dims.
    sentence
        Sentence of each item: (item,).
    groups
        Whether an item is of a kind or gender: (group, item).
    answered
        Which items get an answer: (item,).
    resolvable
        Which items have a right one: (item,).
    variants
        Leading dims of what `found` returns.
    """

    scheme: str
    arrays: Mapping[str, Array]
    names: Mapping[str, list[str]]
    sentence: NDArray[np.int64]
    groups: NDArray[np.bool_]
    answered: NDArray[np.bool_]
    resolvable: NDArray[np.bool_]
    variants: tuple[int, ...]

    def found(self, sentence: int, pattern: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Items of a sentence, and whether a head resolves each: (*variants, head, item) from its attention between words."""

    def baselines(self) -> NDArray[np.bool_]:
        """Whether each baseline resolves each item: (baseline, item)."""


class Chains:
    """Mentions that have an antecedent before them in their passage; the other mentions are only candidates."""

    scheme = CHAINS
    arrays: Mapping[str, Array] = COREFERENCE_ARRAYS
    names: Mapping[str, list[str]] = {"candidates": list(CANDIDATES), "kind": list(KINDS), "baseline": list(BASELINES)}
    variants: tuple[int, ...] = (len(CANDIDATES),)

    def __init__(self, words: Words, mentions: Mentions) -> None:
        self._words, self._mentions = words, mentions
        self.sentence = mentions.table.sentence.values
        self.resolvable = np.zeros(len(self.sentence), np.bool_)
        self._heads = {sentence: mentions.heads(sentence) for sentence in np.unique(self.sentence).tolist()}
        for heads in self._heads.values():
            self.resolvable[heads.rows] = heads.resolvable
        self.answered = self.resolvable
        self.groups = np.stack([(mentions.kinds == kind) | (name == EVERY) for kind, name in enumerate(KINDS)])

    def found(self, sentence: int, pattern: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """See `Antecedents`."""
        heads = self._heads[sentence]
        return heads.rows, np.stack([FINDERS[name](pattern, heads) for name in CANDIDATES])

    def baselines(self) -> NDArray[np.bool_]:
        """See `Antecedents`."""
        found = np.zeros((len(BASELINES), len(self.sentence)), np.bool_)
        for heads in self._heads.values():
            described = [self._described(int(row)) for row in heads.rows]
            of_sentence = baseline_found(heads, described)
            found[:, heads.rows] = np.stack([of_sentence[name] for name in BASELINES])
        return found

    def _described(self, row: int) -> Description:
        word = int(self._mentions.table.head_word[row])
        table = {name: int(self._words.table[name][word]) for name in ("tag", "entity")}
        tag, entity = (self._words.names(name)[code] if code >= 0 else "" for name, code in table.items())
        return describe(
            self._mentions.texts[row],
            self._words.texts(slice(word, word + 1))[0],
            tag=tag,
            pronoun=KINDS[self._mentions.kinds[row]] == "pronoun",
            person=entity in ("PERSON", "PER"),
        )


class GapPronouns:
    """Pronouns of GAP, each with two names of which at most one is right."""

    scheme = GAP
    arrays: Mapping[str, Array] = GAP_ARRAYS
    names: Mapping[str, list[str]] = {"gender": list(GENDER_NAMES), "baseline": list(GAP_BASELINES)}
    variants: tuple[int, ...] = ()

    def __init__(self, words: Words, mentions: Mentions) -> None:
        self._words, self._mentions = words, mentions
        table = mentions.table
        self.sentence = table.sentence.values[::3]
        entity, head = table.entity.values.reshape(-1, 3), table.head_word.values.reshape(-1, 3)
        self.answered = (head >= 0).all(axis=-1)
        names = entity[:, 1:] == entity[:, :1]
        self._right = np.where(names.any(axis=-1), names.argmax(axis=-1), -1)
        self.resolvable = self._right >= 0
        genders = np.array(mentions.genders[::3])
        self.groups = np.stack([(genders == name) | (name == EVERY) for name in GENDER_NAMES])
        self._head, self._start = head, table.character_start.values.reshape(-1, 3)

    def found(self, sentence: int, pattern: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """See `Antecedents`."""
        items = np.flatnonzero((self.sentence == sentence) & self.answered)
        hits = [found_of_two(pattern, self._row(int(item))) for item in items]
        return items, np.stack(hits, axis=-1) if hits else np.zeros((len(pattern), 0), np.bool_)

    def _row(self, item: int) -> GapRow:
        first = self._words.rows(int(self.sentence[item])).start
        pronoun, one, other = (int(word) - first for word in self._head[item])
        return GapRow(pronoun, (one, other), int(self._right[item]))

    def baselines(self) -> NDArray[np.bool_]:
        """See `Antecedents`."""
        distance = np.abs(self._start[:, 1:] - self._start[:, :1])
        nearest = (distance[:, 1] <= distance[:, 0]).astype(np.intp)
        role = self._roles()
        same = (role[:, 1:] == role[:, :1]) & (role[:, :1] >= 0)
        parallel = np.where(same.sum(axis=-1) == 1, same.argmax(axis=-1), nearest)
        return np.stack([(choice == self._right) & self.answered for choice in (nearest, parallel)])

    def _roles(self) -> NDArray[np.int64]:
        """Whether the pronoun and the names are subject (0), object (1) or neither (-1): (item, 3)."""
        names = [*self._words.names("relation"), ""]
        roles = np.array([next((role for role, labels in enumerate(ROLES) if name in labels), -1) for name in names])
        found: NDArray[np.int64] = roles[self._words.table.relation.values[self._head]]
        return found


def antecedents_of(words: Words) -> Antecedents:
    """What is counted of a corpus with mentions."""
    assert words.mentions is not None
    return (GapPronouns if words.mentions.scheme == GAP else Chains)(words, words.mentions)
