"""The records of a JSON file, one object a line or one array of objects, and the types of their columns."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.run.errors import IngestError, short
from ingest.text.lines import read_lines

Record = dict[str, Any]
#: What a person calls a value.
KINDS = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
NESTED = ("a list", "an object")


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
        Where a line is no JSON object; the message names the line.
    """
    lines = enumerate(read_lines(path), 1)
    for number, line in lines:
        if not line.strip():
            continue
        if _is_array(path, line):
            yield from _array(path, line + "".join(more for _, more in lines))
            return
        yield _object(path, line, f"Line {number:,}")


def json_row(record: Record, titles: list[str]) -> list[str | None]:
    """The values of these columns as text; None where there is none."""
    return [_text(record.get(title)) for title in titles]


def _is_array(path: Path, line: str) -> bool:
    return ".json" in path.suffixes[-2:] and line.lstrip().startswith("[")


def _array(path: Path, text: str) -> Iterator[Record]:
    records = _parsed(path, text, "The array")
    for number, record in enumerate(records, 1):
        yield _checked(path, record, f"Record {number:,}")


def _object(path: Path, line: str, where: str) -> Record:
    return _checked(path, _parsed(path, line, where), where)


def _parsed(path: Path, text: str, where: str) -> Any:
    try:
        return json.loads(text, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise _no_object(path, where) from error


def _constant(name: str) -> float | None:
    """Python writes a missing number as NaN, and numbers without bound as Infinity and -Infinity."""
    return None if name == "NaN" else float(name)


def _checked(path: Path, record: Any, where: str) -> Record:
    if not isinstance(record, dict):
        raise _no_object(path, where)
    return record


def _no_object(path: Path, where: str) -> IngestError:
    return IngestError(
        f'{where} of {short(path)} is no JSON object. Save one object such as {{"text": "...", "label": "..."}} on each line.'
    )


def _text(value: Any) -> str | None:
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else str(value)
    return None if value is None else str(value)


def _is_refused(kinds: dict[str, int]) -> bool:
    return len(kinds) > 1 or any(kind in NESTED for kind in kinds)


def _in_row(kinds: dict[str, int]) -> list[str]:
    return [f"{kind} in row {row:,}" for kind, row in kinds.items()]
