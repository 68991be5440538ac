"""Which columns of the data sort its reviews into a few categories, and the category of each review; labels are such too.

Nothing is kept per review: a sentence knows its review, and its category is looked up when the sentences are chosen.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from datasets import Dataset

#: A column has so many different values, None not counted; fewer say nothing, more are no categories.
FEWEST, MOST = 2, 64
#: More labels tell nothing of them that a person could read.
MOST_LABELS = 256
MOST_COLUMNS = 16
ROWS_AT_ONCE = 10_000
#: No category: a csv cannot tell the two apart.
NONE = (None, "")

_KINDS = re.compile(r"null|(large_)?string|string_view|bool|u?int\d+|float\d+")


@dataclass(frozen=True)
class Column:
    """A categorical column of the data."""

    #: The name of its array in the store; the dim `sentence` is none.
    array: str
    title: str
    #: Code -> category as a person reads it.
    names: list[str]
    #: Value in the data -> code.
    codes: Mapping[Any, int]


def find_columns(table: "Dataset", *, besides: Iterable[str]) -> list[Column]:
    """The first `MOST_COLUMNS` categorical columns in the data's order, `besides` left out."""
    left_out = set(besides)
    columns: list[Column] = []
    for title in table.column_names:
        values = None if title in left_out else _categories(table, title)
        if values is not None:
            array = _array_name(title, {column.array for column in columns} | {"sentence"})
            columns.append(_column(array, title, values, getattr(table.features[title], "names", None)))
        if len(columns) == MOST_COLUMNS:
            break
    return columns


def column_codes(table: "Dataset", column: Column, documents: NDArray[np.integer]) -> NDArray[np.int16]:
    """Code of the category of each of these reviews, -1 where it has none."""
    values = table.select_columns([column.title])
    codes = np.empty(len(documents), np.int16)
    for start in range(0, len(documents), ROWS_AT_ONCE):
        part = values[documents[start : start + ROWS_AT_ONCE].tolist()][column.title]
        codes[start : start + len(part)] = [column.codes.get(value, -1) for value in part]
    return codes


def label_column(table: "Dataset", title: str, *, names: Sequence[str] | None = None) -> Column | None:
    """The column of the reviews' labels; None where there is none, or nothing in it.

    Parameters
    ----------
    names
        Of the labels, where they are numbers from 0 on. All names count, as do all that the data set itself declares.

    Raises
    ------
    ValueError
        Where the values are of a kind that cannot be labels, or are more than `MOST_LABELS`.
    """
    if title not in table.column_names:
        return None
    known = names or getattr(table.features[title], "names", None)
    values = list(range(len(known))) if known else _values(table, title, most=MOST_LABELS)
    if values is None or len(values) > MOST_LABELS:
        raise ValueError(f"column {title!r} holds no labels")
    return _column("label", title, values, known) if values else None


def _categories(table: "Dataset", title: str) -> list[Any] | None:
    """Its values in order, or None if it is not categorical."""
    values = _values(table, title, most=MOST)
    if values is None or len(values) < FEWEST or not all(map(_is_whole, values)):
        return None
    return values


def _values(table: "Dataset", title: str, *, most: int) -> list[Any] | None:
    """Its different values in order, or None if they are more, or of another kind. Reads on only while there are few enough."""
    if not _KINDS.fullmatch(str(getattr(table.features[title], "dtype", ""))):
        return None
    found: set[Any] = set()
    for values in _distinct_values(table, title):
        found |= {value for value in values if value not in NONE and value == value}  # NaN is none either
        if len(found) > most:
            return None
    return sorted(found)


def _distinct_values(table: "Dataset", title: str) -> Iterator[list[Any]]:
    for part in table.select_columns([title]).with_format("arrow").iter(ROWS_AT_ONCE):
        yield part[title].unique().to_pylist()


def _is_whole(value: Any) -> bool:
    """Integers with gaps are read from csv as floats."""
    return not isinstance(value, float) or value.is_integer()


def _column(array: str, title: str, values: list[Any], known: Sequence[str] | None) -> Column:
    """`known` names numbers; -1 is none of them."""
    values = [value for value in values if value >= 0] if known else values
    names = [known[value] if known else _name(value) for value in values]
    return Column(array, title, names, {value: code for code, value in enumerate(values)})


def _name(value: Any) -> str:
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


def _array_name(title: str, taken: set[str]) -> str:
    """Letters of ASCII, digits and underscores, like no other."""
    stem = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:60] or "column"
    candidates = (stem if number == 1 else f"{stem}_{number}" for number in range(1, len(taken) + 2))
    return next(name for name in candidates if name not in taken)
