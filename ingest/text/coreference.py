"""Passages with their mentions: CoNLL-2012 (Pradhan et al. 2012), also as GUM's three columns, and GAP (Webster et al. 2018)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ingest.run.errors import IngestError, short
from ingest.text.annotation import WITHHELD, LeftOut, TextSpans, UnusableError, unescaped
from store.phrases import MOST_DIGITS, many, whole_number
from store.schema.corpus import GENDERS

#: Words of a passage at most: about 128 wordpieces, to which Clark et al. (2019, section 4.3) cut their documents.
PASSAGE_WORDS = 90
BEGIN, END = re.compile(r"#\s?begin document"), re.compile(r"#\s?end document")
SENTENCE_ENDS = frozenset(".?!")
#: Columns of the short form and of CoNLL-2012 -> column of the word; the last column has the brackets of the mentions.
SHORT_COLUMNS, SHORT_WORD, LONG_COLUMNS, LONG_WORD = 3, 1, 11, 3
_ENTITY = rf"(?<!\d)\d{{1,{MOST_DIGITS}}}(?!\d)"
BRACKET = re.compile(rf"\(({_ENTITY})\)|\(({_ENTITY})|({_ENTITY})\)")
GAP_COLUMNS = ("ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref")
GAP_VALUES = {"true": True, "false": False}


@dataclass(frozen=True)
class MentionSpans(TextSpans):
    """Mentions of one text.

    Attributes
    ----------
    entity
        Number of the entity that each mention stands for: mentions of one text with the same number corefer.
    """

    entity: Sequence[int]


@dataclass
class _Document:
    """Words of a document, the words after which a sentence ends, and its mentions as (first word, last word, entity)."""

    words: list[str] = field(default_factory=list)
    sentence_stops: list[int] = field(default_factory=list)
    mentions: list[tuple[int, int, int]] = field(default_factory=list)
    #: Entity -> first words of its mentions that are not closed yet.
    unclosed: dict[int, list[int]] = field(default_factory=dict)


def read_coreference(lines: Iterable[str], name: str) -> Iterator[tuple[str, MentionSpans]]:
    """Passages of a CoNLL file with coreference: whole sentences of at most `PASSAGE_WORDS` words together; a longer sentence is cut.

    Only mentions count whose entity has another mention in the document, as in OntoNotes.

    Raises
    ------
    IngestError
        Where a line is not of the format, which the message names, or where the words of every document are withheld.
    """
    left_out, read = LeftOut("document", name), 0
    for number, document in enumerate(_documents(lines, name), 1):
        if all(map(WITHHELD.fullmatch, document.words)):
            words = f"has {short(document.words[0])} for its {many(len(document.words), 'word')}"
            left_out.add(f"document {number:,}", UnusableError("whose words are withheld", words))
        else:
            read += 1
            yield from _passages(document)
    left_out.tell(read, "Give the files with their words: the README of the corpus says how to add them.")


def _documents(lines: Iterable[str], name: str) -> Iterator[_Document]:
    document: _Document | None = None
    for number, line in enumerate(lines, 1):
        where = f"Line {number:,} of {short(name)}"
        if BEGIN.match(line) or (END.match(line) and document):
            yield from _finished(document, where)
            document = _Document() if BEGIN.match(line) else None
        elif line.strip() and not line.startswith("#"):
            if document is None:
                raise IngestError(
                    f"{where} stands before `#begin document`. Save coreference as CoNLL-2012, or dependencies as .conllu."
                )
            _add(document, line.split(), where)
        elif not line.strip() and document:
            document.sentence_stops.append(len(document.words))
    yield from _finished(document, f"The end of {short(name)}")


def _finished(document: _Document | None, where: str) -> Iterator[_Document]:
    if document is None:
        return
    unclosed = [entity for entity, starts in document.unclosed.items() if starts]
    if unclosed:
        raise IngestError(f"{where} leaves a mention of the entity {unclosed[0]} open. Close its bracket.")
    if document.words:
        yield document


def _add(document: _Document, fields: list[str], where: str) -> None:
    """Add a line of a word with the brackets of the mentions that begin or end there."""
    if len(fields) != SHORT_COLUMNS and len(fields) < LONG_COLUMNS:
        raise IngestError(
            f"{where} has {many(len(fields), 'column')}, not {SHORT_COLUMNS}, or {LONG_COLUMNS} and more. Save the file as CoNLL-2012."
        )
    word = len(document.words)
    document.words.append(unescaped(fields[SHORT_WORD if len(fields) == SHORT_COLUMNS else LONG_WORD]))
    if document.words[-1] in SENTENCE_ENDS:
        document.sentence_stops.append(word + 1)
    if BRACKET.sub("", fields[-1]).strip("|_-"):
        raise IngestError(f"{where} has {short(fields[-1])!r} for its mentions. Write brackets such as (1, 1) and (1).")
    for whole, opened, closed in BRACKET.findall(fields[-1]):
        if opened:
            document.unclosed.setdefault(int(opened), []).append(word)
        elif whole:
            document.mentions.append((word, word, int(whole)))
        elif not document.unclosed.get(int(closed)):
            raise IngestError(f"{where} closes a mention of the entity {closed} that is not open. Open its bracket.")
        else:
            document.mentions.append((document.unclosed[int(closed)].pop(), word, int(closed)))


def _passages(document: _Document) -> Iterator[tuple[str, MentionSpans]]:
    of_entity = Counter(entity for _, _, entity in document.mentions)
    mentions = sorted(mention for mention in document.mentions if of_entity[mention[2]] > 1)
    for first, stop in _bounds(document):
        starts = [0]
        for word in document.words[first:stop]:
            starts.append(starts[-1] + len(word) + 1)
        inside = [
            (begin - first, end - first, entity) for begin, end, entity in mentions if begin >= first and end < stop
        ]
        yield (
            " ".join(document.words[first:stop]),
            MentionSpans(
                [starts[begin] for begin, _, _ in inside],
                [starts[end + 1] - 1 for _, end, _ in inside],
                [entity for _, _, entity in inside],
            ),
        )


def _bounds(document: _Document) -> Iterator[tuple[int, int]]:
    """First word of every passage and the one after its last."""
    first, words = 0, len(document.words)
    while first < words:
        longest = min(first + PASSAGE_WORDS, words)
        ends = [stop for stop in document.sentence_stops if first < stop <= longest]
        stop = longest if longest == words or not ends else ends[-1]
        yield first, stop
        first = stop


def read_gap(lines: Iterable[str], name: str) -> Iterator[tuple[str, MentionSpans]]:
    """Texts of GAP with their mentions in threes: a pronoun, the name A and the name B; rows of one text are together.

    A row whose mentions do not stand in its text is left out; at the end their number for each cause, and the problem of the
    first, are said.

    Raises
    ------
    IngestError
        Where the columns are not those of GAP, or where every row is left out.
    """
    rows = (line.rstrip("\r\n").split("\t") for line in lines)
    titles = next(rows, [])
    if not set(GAP_COLUMNS) <= set(titles):
        raise IngestError(
            f"{short(name)} does not have the columns of GAP ({', '.join(GAP_COLUMNS)}). Save other tables as .csv."
        )
    texts: dict[str, list[tuple[int, int, int]]] = {}
    left_out = LeftOut("row", name)
    for number, fields in enumerate(rows, 2):
        try:
            row = _gap_row(titles, fields)
            mentions = texts.setdefault(row["Text"], [])
            mentions += _gap_mentions(row, first_entity=len(mentions))
        except UnusableError as error:
            left_out.add(f"row {number:,}", error)
    left_out.tell(sum(map(len, texts.values())), "Give the table of GAP as it was published.")
    for text, mentions in texts.items():
        if mentions:
            yield text, MentionSpans(*(list(values) for values in zip(*mentions, strict=True)))


def _gap_row(titles: list[str], fields: list[str]) -> dict[str, str]:
    if len(fields) != len(titles):
        raise UnusableError("of another length", f"has {many(len(fields), 'column')}, not {len(titles)}")
    return dict(zip(titles, fields, strict=True))


def _gap_mentions(row: dict[str, str], *, first_entity: int) -> list[tuple[int, int, int]]:
    """(start, stop, entity) of the pronoun, of A and of B."""
    if row["Pronoun"].lower() not in GENDERS:
        reason = f"has the pronoun {short(row['Pronoun'])!r}, not one of {', '.join(GENDERS)}"
        raise UnusableError("without a known pronoun", reason)
    mentions: list[tuple[int, int, int]] = []
    for number, title in enumerate(("Pronoun", "A", "B")):
        corefers = number == 0 or GAP_VALUES.get(row[f"{title}-coref"].lower())
        if corefers is None:
            reason = f"has {short(row[f'{title}-coref'])!r} as {title}-coref, not TRUE or FALSE"
            raise UnusableError("without an answer", reason)
        start, spelled = whole_number(row[f"{title}-offset"]), row[title]
        if start is None or not spelled or not row["Text"].startswith(spelled, start):
            reason = f"has no {title} {short(spelled)!r} at character {short(row[f'{title}-offset'])}"
            raise UnusableError("whose mentions do not stand in the text", reason)
        mentions.append((start, start + len(spelled), first_entity if corefers else first_entity + number))
    return mentions
