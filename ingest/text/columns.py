"""The categorical columns of the data, labels among them, and the category of each review.

Nothing is kept per review: a sentence knows its review, and its category is looked up when the sentences are chosen.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.run.errors import listed
from ingest.run.progress import bar
from ingest.text.table import Table, plain

#: Fewest and most different values of a categorical column, None not counted; fewer say nothing, more are no categories.
FEWEST, MOST = 2, 64
#: Most labels: a person could not read more of them.
MOST_LABELS = 256
MOST_COLUMNS = 16
ROWS_AT_ONCE = 10_000
#: Columns that are read in one pass: most columns are known to be no categories after the first rows.
COLUMNS_AT_ONCE = 256
#: Values that are no category: a csv cannot tell the two apart.
NONE = (None, "")
#: Spellings of a missing number in a column of numbers.
NO_NUMBER = frozenset(("NA", "N/A", "NaN", "nan", "NULL", "null", "None"))

#: Errors when a value is read into Python: a date before the year 1, an unknown time zone, text that is not UTF-8.
UNREADABLE = (ArithmeticError, LookupError, ValueError, pa.ArrowException)
#: Titles that pandas gives to the index of its rows.
INDEX = re.compile(r"|index|Unnamed: \d+|__index_level_\d+__")

_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_NUMBER = re.compile(rf"[+-]?\d+(\.\d+)?|{_INFINITE.pattern}", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """A categorical column of the data."""

    #: Name of the column's array in the store; it cannot be `sentence`, which is a dim.
    array: str
    title: str
    #: Code -> category as a person reads it.
    names: list[str]
    #: Value in the data -> code.
    codes: Mapping[Any, int]


@dataclass(frozen=True)
class Columns:
    """The categorical columns of a table, and why other columns cannot be categorical, by title."""

    categorical: list[Column] = field(default_factory=list)
    left_out: Mapping[str, str] = field(default_factory=dict)

    def complaint(self, name: str) -> str:
        """A sentence on the columns that are left out."""
        reasons = listed(f"{title!r} ({reason})" for title, reason in self.left_out.items())
        return f"Columns of {name} that cannot be categories are left out: {reasons}. Save a column as text to filter by it."


def find_columns(table: Table, *, besides: Iterable[str]) -> Columns:
    """The first `MOST_COLUMNS` categorical columns in the data's order, `besides` left out."""
    known = {*besides}
    left_out = {title: reason for title, reason in table.refused.items() if title not in known}
    titles = [title for title in table.columns.column_names if title not in known | {*left_out}]
    columns: list[Column] = []
    for title, values in islice(_categories(table, titles, left_out), MOST_COLUMNS):
        array = _array_name(title, {column.array for column in columns} | {"sentence"})
        columns.append(_column(array, title, values, table.class_names.get(title)))
    return Columns(columns, left_out)


def _categories(table: Table, titles: Sequence[str], unreadable: dict[str, str]) -> Iterator[tuple[str, list[Any]]]:
    """The columns that are categorical, each with its different values in order."""
    with bar("columns", total=len(titles), unit="columns", delay=1) as progress:
        for start in range(0, len(titles), COLUMNS_AT_ONCE):
            some = titles[start : start + COLUMNS_AT_ONCE]
            values_of = _distinct_values(table, some, most=MOST, unreadable=unreadable)
            for title, values in values_of.items():
                if _are_categories(values) and not _is_index(title, values, len(table)):
                    yield title, values
            progress.update(len(some))


def _is_index(title: str, values: Sequence[Any], rows: int) -> bool:
    """Whether a column numbers the rows, as the index that pandas saves with them."""
    return bool(INDEX.fullmatch(title)) and [str(value) for value in values] == [str(row) for row in range(rows)]


def column_codes(table: Table, column: Column, documents: NDArray[np.integer]) -> NDArray[np.int16]:
    """Code of the category of each of these reviews, -1 where it has none."""
    values = table.plain_column(column.title)
    codes = np.empty(len(documents), np.int16)
    for start in range(0, len(documents), ROWS_AT_ONCE):
        part = values.take(pa.array(documents[start : start + ROWS_AT_ONCE])).to_pylist()
        codes[start : start + len(part)] = [column.codes.get(value, -1) for value in part]
    return codes


def label_column(table: Table, title: str, *, names: Sequence[str] | None = None) -> Column | None:
    """The column of the reviews' labels; None where the column is missing or empty.

    Parameters
    ----------
    names
        Names of the labels, where these are numbers from 0 on. All names count, as do all that the data set itself declares.

    Raises
    ------
    ValueError
        Where the values are of a kind that cannot be labels, cannot be read, or are more than `MOST_LABELS`; says which.
    """
    if title in table.refused:
        raise ValueError(f"it holds {table.refused[title]}")
    if title not in table.columns.column_names:
        return None
    known = names or table.class_names.get(title)
    unreadable: dict[str, str] = {}
    values_of = {} if known else _distinct_values(table, [title], most=MOST_LABELS, unreadable=unreadable)
    if unreadable:
        raise ValueError(f"it holds {unreadable[title]}")
    values = list(range(len(known))) if known else values_of.get(title)
    if values is None or len(values) > MOST_LABELS:
        raise ValueError(f"it has more than {MOST_LABELS} different values")
    return _column("label", title, values, known) if values else None


def _distinct_values(
    table: Table, titles: Sequence[str], *, most: int, unreadable: dict[str, str]
) -> dict[str, list[Any]]:
    """Different values of each column, in order; columns with more than `most` values or with an unreadable one are left out."""
    values_of: dict[str, set[Any]] = {title: set() for title in titles}
    for batch in table.columns.select(list(titles)).to_batches(ROWS_AT_ONCE):
        for title in list(values_of):
            column = batch.column(title)
            try:
                values_of[title].update(_distinct(column))
            except UNREADABLE as error:
                is_text = isinstance(error, UnicodeError)
                unreadable[title] = "text that is not UTF-8" if is_text else f"{column.type} outside of Python's dates"
            if title in unreadable or len(values_of[title]) > most + len(NO_NUMBER):
                del values_of[title]
    values = {title: _ordered(values) for title, values in values_of.items()}
    return {title: ordered for title, ordered in values.items() if len(ordered) <= most}


def _distinct(column: pa.Array) -> set[Any]:
    column = plain(column)
    # Arrow counts no decimals of 32 and 64 bits.
    counted = column if pa.types.is_decimal(column.type) else column.unique()
    values = set(counted.to_pylist())
    return {value for value in values if value not in NONE and value == value}  # NaN is none either


def _ordered(values: set[Any]) -> list[Any]:
    """Values in order: numbers by size, also where they are written as text."""
    numbers = {value for value in values if isinstance(value, str) and _NUMBER.fullmatch(value)}
    if numbers and values <= numbers | NO_NUMBER:
        return sorted(numbers, key=lambda number: (float(number), number))
    return sorted(values)


def _are_categories(values: list[Any]) -> bool:
    words = [value for value in values if isinstance(value, str) and not _NUMBER.fullmatch(value)]
    named = {value for value in values if words and _INFINITE.fullmatch(str(value))}  # "Inf" among words is one of them
    return len(values) >= FEWEST and all(map(_is_whole, {*values} - named))


def _is_whole(value: Any) -> bool:
    """Whether a value is no fraction: measures are no categories, but integers with gaps may have become floats."""
    if isinstance(value, str):
        return not _NUMBER.fullmatch(value) or float(value).is_integer()
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return not isinstance(value, float) or value.is_integer()


def _column(array: str, title: str, values: list[Any], known: Sequence[str] | None) -> Column:
    """A column from its values; `known` names numbers from 0 on, other numbers are no category."""
    values = [value for value in values if 0 <= value < len(known)] if known else values
    names = [known[value] if known else _name(value) for value in values]
    codes = {value: code for code, value in enumerate(values)}
    return Column(array, title, names, codes | {str(value): code for value, code in codes.items()} if known else codes)


def _name(value: Any) -> str:
    if isinstance(value, (float, Decimal)) and _is_whole(value):
        return f"{value:.0f}"
    return str(value).removesuffix(" 00:00:00")  # a date that was stored as a time


def _array_name(title: str, taken: set[str]) -> str:
    """A unique name of ASCII letters, digits and underscores."""
    stem = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:60] or "column"
    candidates = (stem if number == 1 else f"{stem}_{number}" for number in range(1, len(taken) + 2))
    return next(name for name in candidates if name not in taken)
