"""The records of a JSON document in the shapes that programs write: arrays, tables by column, pandas' own, answers of the hub."""

from collections.abc import Iterator
from typing import Any

from ingest.run.errors import listed

Record = dict[str, Any]
#: What a person calls a value.
KINDS = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
SPLIT = ({"columns", "data"}, {"columns", "data", "index"})


class UnknownShapeError(ValueError):
    """What a document is instead, and how to save it."""

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
    """The one array of objects in a document, or the document, where it shares keys with them, as one record."""
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
