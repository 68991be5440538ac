"""What is known of the words of one text: where they stand, and their grammar.

A text may spell them otherwise: escaped, composed of other characters, or with invisible ones. What is left out of a file
while it is read is counted by cause.
"""

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from typing import Self

from ingest.run.errors import IngestError, short
from ingest.run.progress import say
from store.phrases import many
from store.schema.corpus import NO_GOVERNOR

#: Brackets as the Penn Treebank writes them.
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
#: Punctuation after a slash as in OntoNotes, slash and asterisk after a backslash as in the Penn Treebank.
PUNCTUATION, ESCAPED = re.compile(r"/([.,?!:;-])"), re.compile(r"\\([/*])")
#: Words of a corpus that is given away without them, for its licence: https://github.com/UniversalDependencies/UD_English-GUMReddit
WITHHELD = re.compile(r"_|\[WORD\]")
#: Characters without a width or a glyph, such as a zero-width space or a soft hyphen.
INVISIBLE = "Cf"


class UnusableError(ValueError):
    """A part of a file cannot be used; `cause` is what it shares with others, the message what is wrong with this one."""

    def __init__(self, cause: str, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause


@dataclass
class LeftOut:
    """Parts of a file that are left out: how many of each cause, and what is wrong with the first."""

    noun: str
    name: str
    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, where: str, error: UnusableError) -> None:
        """Count the part that stands there."""
        self.counts[error.cause] = self.counts.get(error.cause, 0) + 1
        self.first.setdefault(error.cause, f"{where} {error}")

    def tell(self, read: int, remedy: str) -> None:
        """Say what is left out.

        Raises
        ------
        IngestError
            Where no part was read; the message ends with the remedy.
        """
        if not self.counts:
            return
        causes = "; ".join(f"{count:,} {cause} ({self.first[cause]})" for cause, count in self.counts.items())
        sentence = f"{many(sum(self.counts.values()), self.noun)} of {short(self.name)} left out: {causes}."
        if not read:
            raise IngestError(f"{sentence} {remedy}")
        say(f"{sentence} Mend the file to have all.")


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


def unescaped(word: str) -> str:
    """What a word stands for: `(` for `-LRB-`, `.` for `/.`."""
    punctuation = PUNCTUATION.fullmatch(word)
    return punctuation[1] if punctuation else BRACKETS.get(word.upper(), ESCAPED.sub(r"\1", word))


def place_of(word: str, text: str, place: int) -> tuple[int, int] | None:
    """First character of a word that stands next in a text, and the one after its last; None where another stands there.

    Canonically equivalent characters are equal, invisible ones are none.
    """
    start = len(text) - len(text[place:].lstrip())
    if text.startswith(word, start):
        return start, start + len(word)
    letters, _ = _folded(word)
    standing, places = _folded(text[start:])
    before = len(standing) - len(standing.lstrip())
    if not letters or not standing.startswith(letters, before):
        return None
    found = places[before : before + len(letters)]
    return start + min(found), start + max(found) + 1


def _folded(text: str) -> tuple[str, list[int]]:
    """The characters of a text in canonical decomposition without invisible ones, and the place of each in the text."""
    letters = [
        (letter, place)
        for place, character in enumerate(text)
        if unicodedata.category(character) != INVISIBLE
        for letter in unicodedata.normalize("NFD", character)
    ]
    classes = [unicodedata.combining(letter) for letter, _ in letters]
    clusters = accumulate(kind == 0 for kind in classes)
    order = sorted(range(len(letters)), key=list(zip(clusters, classes, strict=True)).__getitem__)
    return "".join(letters[at][0] for at in order), [letters[at][1] for at in order]
