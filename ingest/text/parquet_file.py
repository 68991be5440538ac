"""The rows of a Parquet file, in types that Arrow counts and picks values of."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.run.errors import IngestError, short
from ingest.run.progress import bar
from ingest.text.arrow_types import plain, plain_type
from ingest.text.signature import PARQUET, check_not_another

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
