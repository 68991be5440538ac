"""The columns of a Parquet file that hold text, numbers, truth values or times, and what columns of each type may be."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.run.errors import IngestError, short
from ingest.run.progress import bar

ROWS_AT_ONCE = 10_000


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
        raise IngestError(f"{short(path)} is not whole Parquet ({type(error).__name__}). Save it again.") from error


def read_parquet(file: pq.ParquetFile, titles: list[str]) -> Iterator[pa.Table]:
    """The rows of the file with these columns, counted on a bar; dictionaries are decoded."""
    with bar("reading", total=file.metadata.num_rows, unit="rows", delay=1) as progress:
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=titles):
            yield pa.table([_plain(column) for column in batch.columns], names=batch.schema.names)
            progress.update(batch.num_rows)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with the value types of columns that are stored as dictionaries."""
    return pa.schema([pa.field(field.name, plain_type(field.type)) for field in schema])


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


#: Of a schema's metadata: which columns can be neither text nor labels, which hold no text; each with what they hold.
REFUSED, NOT_TEXT = b"refused", b"not_text"


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column, or of its values where it is a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def refused(schema: pa.Schema) -> Mapping[str, str]:
    """Columns that cannot be categories: lists, structs, bytes, and titles that two columns share."""
    kinds = {field.name: str(field.type) for field in schema if not (is_text(field.type) or is_category(field.type))}
    return kinds | {name: "two columns" for name in schema.names if len(schema.get_all_field_indices(name)) > 1}


def not_text(schema: pa.Schema) -> Mapping[str, str]:
    """Columns that hold no text, with their types."""
    return {field.name: str(field.type) for field in schema if not is_text(field.type)}


def is_text(kind: pa.DataType) -> bool:
    """Whether every value is text; an empty column counts as text."""
    is_string = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(check(kind) for check in is_string)


def is_category(kind: pa.DataType) -> bool:
    """Whether values other than text may be labels: numbers, truth values, dates and times."""
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    times = (pa.types.is_date, pa.types.is_timestamp, pa.types.is_time)
    return any(check(kind) for check in (*numbers, *times))
