"""What columns of each Arrow type may be (text, labels and categories, or nothing to use), and the rows of a Parquet file in types that Arrow counts and picks values of."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.run.errors import IngestError, short
from ingest.run.progress import bar
from ingest.text.lines import PARQUET, check_not_another

ROWS_AT_ONCE = 10_000


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


@contextmanager
def opened(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file.

    Raises
    ------
    IngestError
        Where it is no Parquet, or damaged.
    """
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None):  # of the disk, not of what stands in the file
            raise
        check_not_another(path, PARQUET)
        raise IngestError(f"{short(path)} is not whole Parquet ({type(error).__name__}). Save it again.") from error


def read_parquet(file: pq.ParquetFile, titles: list[str]) -> Iterator[pa.Table]:
    """The rows of the file with these columns in plain types, counted on a bar."""
    with bar("reading", total=file.metadata.num_rows, unit="rows", delay=1) as progress:
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=titles):
            yield pa.table([plain(column) for column in batch.columns], names=batch.schema.names)
            progress.update(batch.num_rows)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with the plain types of its columns."""
    return pa.schema([pa.field(field.name, plain_type(field.type)) for field in schema])
