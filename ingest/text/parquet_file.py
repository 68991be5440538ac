"""The columns of a Parquet file that hold text, numbers, truth values or times."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.errors import IngestError, short
from ingest.progress import bar
from ingest.text.kinds import plain_type

ROWS_AT_ONCE = 10_000


@contextmanager
def opened(path: Path) -> Iterator[pq.ParquetFile]:
    """The file, which need not be whole.

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
    """Its rows with these columns, counted on a bar; what is stored as a dictionary is looked up in it."""
    with bar("reading", total=file.metadata.num_rows, unit="rows", delay=1) as progress:
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=titles):
            yield pa.table([_plain(column) for column in batch.columns], names=batch.schema.names)
            progress.update(batch.num_rows)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Of the same columns once what is stored as a dictionary is looked up in it."""
    return pa.schema([pa.field(one.name, plain_type(one.type)) for one in schema])


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
