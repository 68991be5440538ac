"""The words of one text, their places and their grammar; and the sentences of a treebank.

A text may spell its words otherwise: escaped, composed of other characters, or with invisible ones. Parts of a file
that are left out are counted by cause. Treebanks are CoNLL-U (universaldependencies.org/format) or CoNLL-X (Buchholz &
Marsi 2006).
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from typing import Self

from ingest.run.errors import IngestError, listed, short
from ingest.run.progress import say
from store.phrases import many, whole_number
from store.schema.corpus import NO_GOVERNOR, ROOT

#: Brackets as the Penn Treebank writes them.
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
#: Punctuation after a slash as in OntoNotes, slash and asterisk after a backslash as in the Penn Treebank.
PUNCTUATION, ESCAPED = re.compile(r"/([.,?!:;-])"), re.compile(r"\\([/*])")
#: Words of a corpus that is given away without them, for its licence: https://github.com/UniversalDependencies/UD_English-GUMReddit
WITHHELD = re.compile(r"_|\[WORD\]")
#: Characters without a width or a glyph, such as a zero-width space or a soft hyphen.
INVISIBLE = "Cf"


class UnusableError(ValueError):
    """A part of a file cannot be used; `cause` is the kind of problem, the message the problem of this part."""

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
        """Count the part at `where`, and keep the problem of the first of each cause."""
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
        """The spans as a line of JSON, for the table of a data file."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The spans of a line that `to_json` gave."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Annotation(TextSpans):
    """The words of one text in their order.

    Attributes
    ----------
    governor
        Index of the word that each word depends on; `ROOT` for a root, `NO_GOVERNOR` where it is not known.
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
        """Some of the words, by ascending index. A word whose governor is left out gets `NO_GOVERNOR`."""
        new = {old: number for number, old in enumerate(kept)}
        chosen = {name: [values[word] for word in kept] for name, values in vars(self).items()}
        governors = [new.get(word, NO_GOVERNOR) if word >= 0 else word for word in chosen["governor"]]
        return replace(Annotation(**chosen), governor=governors)


def unescaped(word: str) -> str:
    """The text that a word stands for: `(` for `-LRB-`, `.` for `/.`."""
    punctuation = PUNCTUATION.fullmatch(word)
    return punctuation[1] if punctuation else BRACKETS.get(word.upper(), ESCAPED.sub(r"\1", word))


def place_of(word: str, text: str, place: int) -> tuple[int, int] | None:
    """First character of a word that stands next in a text, and the one after its last; None where another stands there.

    Canonically equivalent characters are equal; invisible ones are ignored.
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


COLUMNS = 10
FORM, LEMMA, PART_OF_SPEECH, TAG, GOVERNOR, RELATION, MISC = 1, 2, 3, 4, 6, 7, 9
TEXT = "# text ="
NO_SPACE = "SpaceAfter=No"
NOTHING = "_"


@dataclass
class _Sentence:
    """Lines of a sentence: its text if it is given, and the fields of its words and of its multiword tokens."""

    first_line: int
    text: str | None = None
    words: list[list[str]] = field(default_factory=list)
    #: First word of a multiword token -> its last word and its fields.
    multiword: dict[int, tuple[int, list[str]]] = field(default_factory=dict)


def read_treebank(lines: Iterable[str], name: str) -> Iterator[tuple[str, Annotation]]:
    """Text and words of every sentence of a treebank. Empty nodes, which stand for no characters, are left out.

    A sentence whose governors are no tree, or whose words are withheld, not to be seen or not in its text, is left out; at
    the end their number for each cause, and the problem of the first, are said.

    Raises
    ------
    IngestError
        Where a line is not of the format, which the message names, or where every sentence is left out.
    """
    left_out, read = LeftOut("sentence", name), 0
    for sentence in _sentences(lines, name):
        try:
            yield _read(sentence)
            read += 1
        except UnusableError as error:
            left_out.add(f"the sentence at line {sentence.first_line:,}", error)
    left_out.tell(
        read, "Give a treebank of trees with their words: where words are withheld, its README says how to add them."
    )


def _sentences(lines: Iterable[str], name: str) -> Iterator[_Sentence]:
    sentence: _Sentence | None = None
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r\n")
        if not line.strip():
            if sentence and sentence.words:
                yield sentence
            sentence = None
            continue
        sentence = sentence or _Sentence(number)
        if line.startswith("#"):
            sentence.text = line.removeprefix(TEXT).strip() if line.startswith(TEXT) else sentence.text
        else:
            _add(sentence, line, f"Line {number:,} of {short(name)}")
    if sentence and sentence.words:
        yield sentence


def _add(sentence: _Sentence, line: str, where: str) -> None:
    """Add a line of a word, a multiword token or an empty node to its sentence."""
    fields = line.split("\t")
    if len(fields) != COLUMNS:
        raise IngestError(
            f"{where} has {many(len(fields), 'column')} between tabs, not {COLUMNS}. Save the file as CoNLL-U."
        )
    first, dash, last = fields[0].partition("-")
    following = str(len(sentence.words) + 1)
    stop = whole_number(last)
    if dash and first == following and stop is not None and stop >= int(first):
        sentence.multiword[int(first) - 1] = (stop - 1, fields)
    elif fields[0] == following:
        sentence.words.append(fields)
    elif not _is_empty_node(fields[0]):
        raise IngestError(f"{where} numbers a word {short(fields[0])!r}, not {following}. Number words from 1 on.")


def _is_empty_node(number: str) -> bool:
    before, dot, after = number.partition(".")
    return bool(dot) and before.isdecimal() and after.isdecimal()


def _read(sentence: _Sentence) -> tuple[str, Annotation]:
    forms = {fields[FORM] for fields in sentence.words}
    if all(map(WITHHELD.fullmatch, forms)):
        raise UnusableError("whose words are withheld", f"has {listed(sorted(forms))} for words")
    governors = [_governor(fields, len(sentence.words)) for fields in sentence.words]
    _check_tree(governors)
    surface = list(_surface(sentence))
    if not sentence.text:
        surface = [([unescaped(each) for each in forms], unescaped(form), space) for forms, form, space in surface]
    text = " ".join(sentence.text.split()) if sentence.text else _joined(surface)
    if not text.strip():
        raise UnusableError("without visible words", f"has only white space for its {many(len(governors), 'word')}")
    spans = _spans(text, surface)
    columns = {
        name: [_value(fields[column]) for fields in sentence.words]
        for name, column in (
            ("relation", RELATION),
            ("lemma", LEMMA),
            ("part_of_speech", PART_OF_SPEECH),
            ("tag", TAG),
        )
    }
    start, stop = ([span[end] for span in spans] for end in (0, 1))
    return text, Annotation(start, stop, governors, **columns, entity=[""] * len(spans))


def _value(text: str) -> str:
    return "" if text == NOTHING else text


def _governor(fields: list[str], words: int) -> int:
    """Index of the governor, `ROOT` for a root."""
    number = whole_number(fields[GOVERNOR])
    if number is None or number > words:
        reason = f"has the governor {short(fields[GOVERNOR])!r} of word {fields[0]}, but its words are 1 to {words}"
        raise UnusableError("with a governor that is no word", reason)
    return number - 1 if number else ROOT


def _check_tree(governors: list[int]) -> None:
    roots = [number for number, governor in enumerate(governors, 1) if governor == ROOT]
    if len(roots) != 1:
        where = f" (words {roots[0]} and {roots[1]})" if roots else ""
        raise UnusableError("without one root", f"has {len(roots)} roots, not one{where}")
    reached: set[int] = {ROOT}
    for word in range(len(governors)):
        path: set[int] = set()
        while word not in reached:
            if word in path:
                raise UnusableError("with a cycle", f"has a cycle of governors at word {word + 1}")
            path.add(word)
            word = governors[word]
        reached |= path


def _surface(sentence: _Sentence) -> Iterator[tuple[list[str], str, bool]]:
    """The parts of the text in order: the words of each, its spelling, and whether a space follows."""
    word = 0
    while word < len(sentence.words):
        last, fields = sentence.multiword.get(word, (word, sentence.words[word]))
        forms = [each[FORM] for each in sentence.words[word : last + 1]]
        yield forms, fields[FORM], NO_SPACE not in fields[MISC].split("|")
        word = last + 1


def _joined(surface: list[tuple[list[str], str, bool]]) -> str:
    return "".join(form + " " * space for _, form, space in surface).rstrip()


def _spans(text: str, surface: list[tuple[list[str], str, bool]]) -> list[tuple[int, int]]:
    """Characters of every word. Words of a multiword token that are spelled otherwise each have all its characters."""
    spans: list[tuple[int, int]] = []
    place = 0
    for forms, form, _ in surface:
        form = " ".join(form.split())
        span = place_of(form, text, place) or place_of(unescaped(form), text, place)
        if span is None:
            reason = f"has the word {short(form)!r}, which does not stand next in its text"
            raise UnusableError("whose words do not stand in the text", reason)
        start, place = span
        spans += _divided(forms, text[start:place], start)
    return spans


def _divided(forms: list[str], form: str, start: int) -> Iterator[tuple[int, int]]:
    if len(forms) == 1 or "".join(forms) != form:
        yield from [(start, start + len(form))] * len(forms)
        return
    for part in forms:
        yield start, start + len(part)
        start += len(part)
