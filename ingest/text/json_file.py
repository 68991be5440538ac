"""The records of a JSON file, one object a line or in one document, and the types of their columns."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from ingest.run.errors import IngestError, short
from ingest.text.json_shapes import KINDS, Record, UnknownShapeError, records_of
from ingest.text.lines import read_lines

NESTED = ("a list", "an object")
LINE_BREAK = "\n"


def _constant(name: str) -> float | None:
    """Python writes a missing number as NaN, and numbers without bound as Infinity and -Infinity."""
    return None if name == "NaN" else float(name)


DECODER = json.JSONDecoder(parse_constant=_constant)


@dataclass
class JsonColumns:
    """The columns of the records in order of first appearance; per column, the first row of each kind of value."""

    kinds: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterator[Record]) -> "JsonColumns":
        """The columns of these records."""
        columns = cls()
        for row, record in enumerate(records, 1):
            for title, value in record.items():
                kinds = columns.kinds.setdefault(title, {})
                if value is not None:
                    kinds.setdefault(KINDS[type(value)], row)
        return columns

    @property
    def titles(self) -> list[str]:
        """Titles of the columns whose values are all of one kind and not nested."""
        return [title for title in self.kinds if title not in self.refused]

    @property
    def refused(self) -> dict[str, str]:
        """Why the other columns hold neither text nor labels, by title."""
        return {title: " and ".join(_in_row(kinds)) for title, kinds in self.kinds.items() if _is_refused(kinds)}

    @property
    def not_text(self) -> dict[str, str]:
        """Kind of the values in columns other than text, by title."""
        return {title: " and ".join(_in_row(kinds)) for title, kinds in self.kinds.items() if {*kinds} - {"text"}}


def json_records(path: Path) -> Iterator[Record]:
    """Every record of a file.

    Raises
    ------
    IngestError
        Where a line is no JSON object, or the document has no shape of which the records are clear; the message names it.
    """
    filled = ((number, line) for number, line in enumerate(read_lines(path), 1) if line.strip())
    first, second = next(filled, None), next(filled, None)
    if first is None:
        return
    if second is None or not _is_object(first[1]):
        yield from _of_documents(path)
        return
    for number, line in chain([first, second], filled):
        yield _checked(path, _parsed(path, line, f"Line {number:,}"), f"Line {number:,}")


def json_row(record: Record, titles: list[str]) -> list[str | None]:
    """The values of these columns as text; None where there is none."""
    return [_text(record.get(title)) for title in titles]


def _is_object(line: str) -> bool:
    try:
        return isinstance(DECODER.decode(line), dict)
    except (ValueError, RecursionError):
        return False


def _of_documents(path: Path) -> Iterator[Record]:
    """Records of the file as a whole: of one document, or of several that follow each other without lines."""
    documents = list(_documents(path, "".join(read_lines(path))))
    several = len(documents) > 1
    try:
        for document in documents:
            records = iter([document]) if several and isinstance(document, dict) else records_of(document)
            for number, record in enumerate(records, 1):
                yield _checked(path, record, f"Record {number:,}")
    except UnknownShapeError as error:
        raise IngestError(f"{short(path)} {error}") from error


def _documents(path: Path, text: str) -> Iterator[Any]:
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        try:
            document, place = DECODER.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise _no_object(path, f"Line {error.lineno:,}", f" ({error.msg} at character {error.colno:,})") from error
        except (ValueError, RecursionError) as error:  # a number of thousands of digits, or lists within lists
            raise _no_object(path, f"Line {text.count(LINE_BREAK, 0, place) + 1:,}") from error
        yield document


def _parsed(path: Path, line: str, where: str) -> Any:
    try:
        return DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise _no_object(path, where, f" ({error.msg} at character {error.pos + 1:,})") from error
    except (ValueError, RecursionError) as error:
        raise _no_object(path, where) from error


def _checked(path: Path, record: Any, where: str) -> Record:
    if not isinstance(record, dict):
        raise _no_object(path, where)
    return record


def _no_object(path: Path, where: str, cause: str = "") -> IngestError:
    return IngestError(
        f'{where} of {short(path)} is no JSON object{cause}. Save one object such as {{"text": "...", "label": "..."}} on each line.'
    )


def _text(value: Any) -> str | None:
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else str(value)
    return None if value is None else str(value)


def _is_refused(kinds: dict[str, int]) -> bool:
    return len(kinds) > 1 or any(kind in NESTED for kind in kinds)


def _in_row(kinds: dict[str, int]) -> list[str]:
    return [f"{kind} in row {row:,}" for kind, row in kinds.items()]
