"""The records of a JSON file, one object a line or in one document, and the types of their columns.

A document has the shapes that programs write: arrays, tables by column, pandas' own, answers of the hub.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from ingest.run.errors import IngestError, listed, short
from ingest.text.lines import read_lines

NESTED = ("a list", "an object")
LINE_BREAK = "\n"
Record = dict[str, Any]
#: Words for the kinds of values.
KINDS = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
SPLIT = ({"columns", "data"}, {"columns", "data", "index"})


def _constant(name: str) -> float | None:
    """The number that Python writes as NaN, for a missing one, as Infinity or as -Infinity."""
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
    """The values of these columns as text; None where the record has none."""
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


class UnknownShapeError(ValueError):
    """A document of an unknown shape; the message says what it is, and how to save it."""

    def __init__(
        self, shape: str, remedy: str = 'Save one object such as {"text": "...", "label": "..."} on each line'
    ) -> None:
        super().__init__(f"is {shape}, not one object for each review. {remedy}.")


def records_of(document: Any) -> Iterator[Record]:
    """The records of a document that stands alone in its file.

    Raises
    ------
    UnknownShapeError
        Where the document has none of the shapes, or could have two.
    """
    if isinstance(document, list):
        return _of_array(document)
    if not isinstance(document, dict):
        raise UnknownShapeError(KINDS.get(type(document), "null"))
    if {*document} in SPLIT and _is_split(document["columns"], document["data"]):
        if len({*document["columns"]}) < len(document["columns"]):
            raise UnknownShapeError("a table with two columns of one name")
        return (dict(zip(document["columns"], row, strict=True)) for row in document["data"])
    values = list(document.values())
    if (
        values
        and _all(list, *values)
        and len({*map(len, values)}) == 1
        and not any(_all(dict, *each) for each in values)
    ):
        return (dict(zip(document, row, strict=True)) for row in zip(*values, strict=True))
    if values and all(values) and _all(dict, *values):
        return _of_objects(document)
    return _under_a_key(document)


def _of_array(records: list[Any]) -> Iterator[Record]:
    if not records or isinstance(records[0], dict):
        return iter(records)
    raise UnknownShapeError(
        f"an array whose first entry is {KINDS.get(type(records[0]), 'null')}, which names no columns"
    )


def _of_objects(document: dict[str, Record]) -> Iterator[Record]:
    """Rows as pandas numbers them: the numbers are the keys of each column, or with `orient="index"` those of the document."""
    outer, inner = _are_numbers(document), all(map(_are_numbers, document.values()))
    if inner and not outer:
        rows = dict.fromkeys(row for column in document.values() for row in column)
        return ({title: column.get(row) for title, column in document.items()} for row in rows)
    if outer and not inner:
        return iter(document.values())
    raise UnknownShapeError(
        f"an object of objects ({listed(document)})",
        'Save it with `to_json(..., orient="records", lines=True)` of pandas',
    )


def _under_a_key(document: Record) -> Iterator[Record]:
    """The objects of the one array in a document; or the document as one record, where the objects share keys with it."""
    arrays = {key: value for key, value in document.items() if isinstance(value, list) and value and _all(dict, *value)}
    rows = arrays.get("rows", [])
    if rows and all("row" in row for row in rows):  # of the hub's viewer, which describes the columns in another array
        return (row["row"] for row in rows)
    arrays = {key: value for key, value in arrays.items() if not {*value[0]} & {*document}}
    if len(arrays) > 1:
        raise UnknownShapeError(
            f"an object with several arrays of objects ({listed(arrays)})", "Save one of them as a file"
        )
    return iter(next(iter(arrays.values()), [document]))


def _is_split(columns: Any, rows: Any) -> bool:
    if not (_all(list, columns, rows) and _all(str, *columns) and _all(list, *rows)):
        return False
    return {*map(len, rows)} <= {len(columns)}


def _all(kind: type, *values: Any) -> bool:
    return all(isinstance(value, kind) for value in values)


def _are_numbers(keys: Record) -> bool:
    return all(key.isdecimal() for key in keys)
