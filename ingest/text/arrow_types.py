"""What columns of each Arrow type may be: text, labels and categories, or nothing to use."""

from collections.abc import Mapping

import pyarrow as pa


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type in which `plain` gives the values of a column: Arrow counts and picks values of that type."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    return pa.large_string() if pa.types.is_string_view(kind) else kind


def plain(column: pa.Array) -> pa.Array:
    """The values of a column without a dictionary, in the type `plain_type`."""
    if pa.types.is_dictionary(column.type):
        return plain(column.dictionary).take(column.indices)
    kind = plain_type(column.type)
    return column if kind == column.type else column.cast(kind)


def refused(schema: pa.Schema) -> Mapping[str, str]:
    """Columns that cannot be categories: lists, structs, bytes, and titles that two columns share."""
    kinds = {field.name: str(field.type) for field in schema if not (is_text(field.type) or is_category(field.type))}
    return kinds | {name: "two columns" for name in schema.names if len(schema.get_all_field_indices(name)) > 1}


def not_text(schema: pa.Schema) -> Mapping[str, str]:
    """Columns that hold no text, with their types."""
    return {field.name: str(field.type) for field in schema if not is_text(field.type)}


def is_text(kind: pa.DataType) -> bool:
    """Whether every value is text; an empty column counts as text."""
    is_string = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null)
    return any(check(plain_type(kind)) for check in is_string)


def is_category(kind: pa.DataType) -> bool:
    """Whether values other than text may be labels: numbers, truth values, dates and times."""
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    times = (pa.types.is_date, pa.types.is_timestamp, pa.types.is_time)
    return any(check(plain_type(kind)) for check in (*numbers, *times))
