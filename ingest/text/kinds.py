"""What the columns of a table hold, by their types: text, what else may be a label, and what is neither."""

from collections.abc import Mapping

import pyarrow as pa

#: Of a schema's metadata: which columns can be neither text nor labels, which hold no text; each with what they hold.
REFUSED, NOT_TEXT = b"refused", b"not_text"


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values, where they are stored as a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def refused(schema: pa.Schema) -> Mapping[str, str]:
    """Columns of values that nobody could count by: lists, structs, bytes; and titles that two columns have."""
    kinds = {one.name: str(one.type) for one in schema if not (is_text(one.type) or is_category(one.type))}
    return kinds | {name: "two columns" for name in schema.names if len(schema.get_all_field_indices(name)) > 1}


def not_text(schema: pa.Schema) -> Mapping[str, str]:
    """Columns of anything but text."""
    return {one.name: str(one.type) for one in schema if not is_text(one.type)}


def is_text(kind: pa.DataType) -> bool:
    """Whether every value is text; a column of nothing may be."""
    is_string = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(check(kind) for check in is_string)


def is_category(kind: pa.DataType) -> bool:
    """Whether values other than text may be labels: numbers, truth values, dates and times."""
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    times = (pa.types.is_date, pa.types.is_timestamp, pa.types.is_time)
    return any(check(kind) for check in (*numbers, *times))
