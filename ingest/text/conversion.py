"""A data file becomes an Arrow file: its columns, and in the schema's metadata which of them hold no text, or nothing to use."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from ingest.text.csv_file import csv_header, csv_rows
from ingest.text.json_file import JsonColumns, json_records, json_row
from ingest.text.kinds import NOT_TEXT, REFUSED, not_text, refused
from ingest.text.lines import GZIP, plain_rows
from ingest.text.parquet_file import opened, plain_schema, read_parquet

#: Changes where the same file would be converted into something else.
VERSION = 1
#: Rows and characters of a chunk.
MOST_ROWS, MOST_CHARACTERS = 10_000, 1 << 24
FORMS = (".csv", ".parquet", ".jsonl", ".json", ".txt")

Row = Sequence[str | None]


def form_of(path: Path) -> str | None:
    """What its name says a file is, without a `.gz`; None where that cannot be read. Parquet is compressed inside."""
    compressed = path.suffix == GZIP
    form = path.with_suffix("").suffix if compressed else path.suffix
    return form if form in FORMS and not (compressed and form == ".parquet") else None


def convert(path: Path, form: str, target: Path) -> None:
    """Write the Arrow file of a data file.

    Raises
    ------
    IngestError
        Where the file is not what its name says, or damaged; the message names the line or the row.
    """
    converters = {".csv": _convert_csv, ".txt": _convert_plain, ".parquet": _convert_parquet}
    converters.get(form, _convert_json)(path, target)


def _convert_csv(path: Path, target: Path) -> None:
    header = csv_header(path)
    twice = {title: "two columns" for title, count in Counter(header).items() if count > 1}
    places = [place for place, title in enumerate(header) if title not in twice]
    rows = csv_rows(path)
    chosen = ([row[place] for place in places] for row in rows) if twice else rows
    _write_text(target, [header[place] for place in places], chosen, {REFUSED: twice})


def _convert_plain(path: Path, target: Path) -> None:
    _write_text(target, ["text"], plain_rows(path), {})


def _convert_json(path: Path, target: Path) -> None:
    columns = JsonColumns.of(json_records(path))
    rows = (json_row(record, columns.titles) for record in json_records(path))
    _write_text(target, columns.titles, rows, {REFUSED: columns.refused, NOT_TEXT: columns.not_text})


def _convert_parquet(path: Path, target: Path) -> None:
    with opened(path) as file:
        there = plain_schema(file.schema_arrow)
        useless = refused(there)
        schema = pa.schema([one for one in there if one.name not in useless])
        schema = _described(schema, {REFUSED: useless, NOT_TEXT: not_text(there)})
        with pa.OSFile(str(target), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
            for batch in read_parquet(file, schema.names):
                writer.write_table(batch.cast(schema))


def _write_text(
    target: Path, titles: list[str], rows: Iterable[Row], description: Mapping[bytes, Mapping[str, str]]
) -> None:
    schema = _described(pa.schema([(_encodable(title), pa.large_string()) for title in titles]), description)
    with pa.OSFile(str(target), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        for chunk in _chunks(rows):
            columns = [_strings(column) for column in zip(*chunk, strict=True)]
            writer.write_batch(pa.record_batch(columns, schema=schema))


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    chunk: list[Row] = []
    characters = 0
    for row in rows:
        chunk.append(row)
        characters += sum(len(text) for text in row if text)
        if len(chunk) == MOST_ROWS or characters >= MOST_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _described(schema: pa.Schema, description: Mapping[bytes, Mapping[str, str]]) -> pa.Schema:
    return schema.with_metadata({key: json.dumps(value).encode() for key, value in description.items()})


def _strings(texts: tuple[str | None, ...]) -> pa.Array:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        return pa.array([text and _encodable(text) for text in texts], pa.large_string())


def _encodable(text: str) -> str:
    """JSON may escape half a surrogate pair, which UTF-8 cannot encode."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
