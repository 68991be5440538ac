"""Sentences of a treebank, CoNLL-U (universaldependencies.org/format) or CoNLL-X (Buchholz & Marsi 2006), with their words."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ingest.run.errors import IngestError, listed, short
from ingest.text.annotation import WITHHELD, Annotation, LeftOut, UnusableError, place_of, unescaped
from store.phrases import many
from store.schema.corpus import ROOT

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

    A sentence whose governors are no tree, or whose words are withheld or do not stand in its text, is left out; how many
    for each cause, and what is wrong with the first, is said at the end.

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
    if dash and first == following and last.isdecimal() and int(last) >= int(first):
        sentence.multiword[int(first) - 1] = (int(last) - 1, fields)
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
    text = fields[GOVERNOR]
    if not (text.isascii() and text.isdecimal() and int(text) <= words):
        reason = f"has the governor {short(text)!r} of word {fields[0]}, but its words are 1 to {words}"
        raise UnusableError("with a governor that is no word", reason)
    return int(text) - 1 if int(text) else ROOT


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
    """What stands in the text: words in it, their spelling, and whether a space follows."""
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
