"""What is known of the words of one text: where they stand, and their grammar."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Self

from store.schema.corpus import NO_GOVERNOR


@dataclass(frozen=True)
class TextSpans:
    """Parts of one text, with one entry per part in every field.

    Attributes
    ----------
    start, stop
        First character of the part in the text, and the one after its last.
    """

    start: Sequence[int]
    stop: Sequence[int]

    def __len__(self) -> int:
        return len(self.start)

    def to_json(self) -> str:
        """As a line of JSON, for the table of a data file."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Back from `to_json`."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Annotation(TextSpans):
    """The words of one text in their order.

    Attributes
    ----------
    governor
        Index of the word it depends on; `ROOT` for a root, `NO_GOVERNOR` where it is not known.
    relation
        Label of its dependency; "" where there is none, as in the fields below.
    lemma, part_of_speech, tag, entity
        Dictionary form, universal part of speech, part of speech of the annotation's own scheme, kind of the named entity.
    """

    governor: Sequence[int]
    relation: Sequence[str]
    lemma: Sequence[str]
    part_of_speech: Sequence[str]
    tag: Sequence[str]
    entity: Sequence[str]

    def only(self, kept: Sequence[int]) -> "Annotation":
        """Some of the words, by ascending index. What depends on a word that is left out has `NO_GOVERNOR`."""
        new = {old: number for number, old in enumerate(kept)}
        chosen = {name: [values[word] for word in kept] for name, values in vars(self).items()}
        governors = [new.get(word, NO_GOVERNOR) if word >= 0 else word for word in chosen["governor"]]
        return replace(Annotation(**chosen), governor=governors)
