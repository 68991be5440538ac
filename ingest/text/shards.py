"""A data set in several files, read as one table: Arrow files as they are, all others as single data files are."""

import hashlib
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.run.checkpoint import sha256
from ingest.run.errors import IngestError, short
from ingest.text.arrow_types import plain, plain_type
from ingest.text.signature import ARROWS, ENOUGH, POINTER, check_is, check_not_another, kind_of
from ingest.text.table import PARQUET, Table, form_of, form_with_columns, read_table

#: Files of `datasets`: an Arrow stream, as a rule.
ARROW = ".arrow"


def shards_identity(paths: Sequence[Path]) -> str:
    """Hash of the files' bytes, and of where each ends; of one file its own hash."""
    for path in paths:
        _check_fetched(path)
    each = [sha256([path]) for path in paths]
    return each[0] if len(each) == 1 else hashlib.sha256("\n".join(each).encode()).hexdigest()


def shards_form(paths: Sequence[Path]) -> str | None:
    """The form that all files have: none for Arrow files.

    Raises
    ------
    IngestError
        Where they differ.
    """
    forms = {form_with_columns(path) or path.suffix: path for path in paths}
    if len(forms) > 1:
        some = " and ".join(path.name for path in list(forms.values())[:2])
        raise IngestError(f"The files differ in their form: {some}. Give --data=<a pattern of files of one form>.")
    return None if set(forms) == {ARROW} else next(iter(forms))


def read_shards(paths: Sequence[Path]) -> Table:
    """The table of all files, one after the other. A column whose types in the files do not go together is refused."""
    tables = [_read(path) for path in paths]
    refused: dict[str, str] = {}
    not_text: dict[str, str] = {}
    names: dict[str, list[str]] = {}
    for table in tables:
        refused |= table.refused
        not_text |= table.not_text
        names |= table.class_names
    refused |= _of_different_types([table.columns.schema for table in tables], besides=refused)
    kept = [table.columns.select(_places(table.columns, besides=refused)) for table in tables]
    return Table(pa.concat_tables(kept, promote_options="permissive"), refused, not_text, names)


def _places(columns: pa.Table, *, besides: Container[str]) -> list[int]:
    return [place for place, title in enumerate(columns.column_names) if title not in besides]


def _of_different_types(schemas: Sequence[pa.Schema], *, besides: Container[str]) -> dict[str, str]:
    """Columns whose types in the files do not go together, with these types."""
    fields: dict[str, list[pa.Field]] = {}
    for schema in schemas:
        for field in schema:
            fields.setdefault(field.name, []).append(field.remove_metadata())
    different: dict[str, str] = {}
    for title, own in fields.items():
        try:
            pa.unify_schemas([pa.schema([field]) for field in own], promote_options="permissive")
        except pa.ArrowException:
            different[title] = " and ".join(dict.fromkeys(str(field.type) for field in own))
    return {title: types for title, types in different.items() if title not in besides}


def arrow_table(columns: pa.Table) -> Table:
    """What of a table of `datasets` is shown as it is stored, with the names of its labels."""
    values = [pa.chunked_array(map(plain, column.chunks), plain_type(column.type)) for column in columns.columns]
    return Table.of(pa.table(values, columns.column_names), class_names(columns.schema))


def class_names(schema: pa.Schema) -> Mapping[str, list[str]]:
    """Names of the numbers in a column, where `datasets` noted them in the file."""
    from datasets import Features

    if b"huggingface" not in (schema.metadata or {}):
        return {}
    features: Mapping[str, Any] = Features.from_arrow_schema(schema)
    names = {title: getattr(feature, "names", None) for title, feature in features.items()}
    return {title: known for title, known in names.items() if known}


def _read(path: Path) -> Table:
    if path.suffix == ARROW:
        return arrow_table(_mapped(path))
    table = read_table(path, identity=sha256([path]), hashed=lambda: sha256([path]))
    if form_of(path) != PARQUET:
        return table
    return Table(table.columns, table.refused, table.not_text, class_names(pq.read_schema(path)))


def _mapped(path: Path) -> pa.Table:
    """An Arrow file, mapped into memory: a stream, or a file that ends in a list of its batches."""
    try:
        source = pa.memory_map(str(path))
        try:
            return pa.ipc.open_stream(source).read_all()
        except pa.ArrowInvalid:
            return pa.ipc.open_file(source).read_all()
    except (pa.ArrowException, OSError) as error:
        check_not_another(path, *ARROWS)
        raise IngestError(f"{short(path)} is not whole Arrow ({type(error).__name__}). Save it again.") from error


def _check_fetched(path: Path) -> None:
    with path.open("rb") as file:
        first = file.read(ENOUGH)
    if kind_of(first) == POINTER:
        check_is(path, first)
