"""A data file as a table that stays on disk: converted into an Arrow file the first time, then mapped into memory.

The name of a file is literal. The Arrow file is found by the hash of the file's bytes, so what is read is what was hashed;
its metadata name the columns that hold no text, or nothing to use. `datasets` reads the hub alone, since it takes names
for patterns and URLs, and unpacks what is not named so. What columns of each Arrow type may be (text, labels and categories,
or nothing to use) is decided here, and a Parquet file gives its rows in types that Arrow counts and picks values of.
A csv may have any of the usual delimiters; quotes in tsv are a part of the text.
"""

import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.run.errors import IngestError, short
from ingest.run.files import (
    CONLL,
    CSV,
    FORMS,
    GAP_TABLE,
    GZIP,
    PARQUET,
    PLAIN,
    TREEBANKS,
    TSV,
    form_of,
    is_compressed,
    is_writable,
    own_temporary_folder,
)
from ingest.run.progress import bar
from ingest.text.annotation import read_treebank
from ingest.text.coreference import GAP_COLUMNS, MentionSpans, read_coreference, read_gap
from ingest.text.json_file import JsonColumns, json_records, json_row
from ingest.text.lines import (
    LINE_BREAKS,
    PARQUET_FILE,
    check_not_another,
    plain_rows,
    read_lines,
)
from store.phrases import PROVENANCE, unguarded
from store.repository.files import new_file

ROWS_AT_ONCE = 10_000
#: Permissions of kept files of data, which may be private.
OWN = 0o600
#: Version of the conversion: changes where the same file would be converted into something else.
VERSION = 3
#: Keys of the Arrow file's metadata, for columns that can be neither text nor labels and those without text; both say what these hold.
REFUSED, NOT_TEXT = b"refused", b"not_text"
#: Rows and characters of a chunk.
MOST_ROWS, MOST_CHARACTERS = 10_000, 1 << 24
#: Columns that hold the words, or the mentions, of the text in the column `text`.
ANNOTATION, MENTIONS = "annotation", "mentions"
#: Delimiters of the fields of a csv file, with their names; of two that fit alike, the first is taken.
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
#: The first line of a file that Excel saved for another country.
SEPARATOR = re.compile(r"sep=(.)")
#: Lines in which the header and the first row are looked for.
FIRST_LINES = 100
#: Longest field in bytes; the default of 131,072 is less than a book.
LONGEST_FIELD = min(sys.maxsize, 2**31 - 1)

Row = Sequence[str | None]


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type in which `plain` gives the values of a column: Arrow counts and picks values of that type."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_float16(kind):
        return pa.float32()  # before version 26 Arrow counts no float16
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
def opened_parquet(path: Path) -> Iterator[pq.ParquetFile]:
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
        check_not_another(path, PARQUET_FILE)
        raise IngestError(f"{short(path)} is not whole Parquet ({type(error).__name__}). Save it again.") from error


def read_parquet(file: pq.ParquetFile, titles: list[str], *, rows: int = ROWS_AT_ONCE) -> Iterator[pa.Table]:
    """The rows of the file with these columns in plain types, `rows` at once, counted on a bar."""
    with bar("reading", total=file.metadata.num_rows, unit="rows", delay=1) as progress:
        for batch in file.iter_batches(rows, columns=titles):
            yield pa.table([plain(column) for column in batch.columns], names=batch.schema.names)
            progress.update(batch.num_rows)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with the plain types of its columns."""
    return pa.schema([pa.field(field.name, plain_type(field.type)) for field in schema])


@dataclass(frozen=True)
class Table:
    """Columns of a data set.

    Attributes
    ----------
    refused
        Columns that can be neither text nor labels, and what they hold: "a list in row 3".
    not_text
        Columns whose values are not text, and what they are.
    class_names
        Names of the numbers in a column, where the data set declares them.
    """

    columns: pa.Table
    refused: Mapping[str, str]
    not_text: Mapping[str, str]
    class_names: Mapping[str, list[str]]

    @classmethod
    def of(cls, columns: pa.Table, class_names: Mapping[str, list[str]] | None = None) -> "Table":
        """A table whose types say what its columns hold."""
        return cls(columns, refused(columns.schema), not_text(columns.schema), class_names or {})

    def __len__(self) -> int:
        return self.columns.num_rows

    def plain_column(self, title: str) -> pa.ChunkedArray:
        """A column in a type that Arrow picks values of."""
        chunks = [plain(chunk) for chunk in self.columns.column(title).chunks]
        return pa.chunked_array(chunks) if chunks else self.columns.column(title)

    @property
    def titles(self) -> list[str]:
        """Titles of all columns, the refused ones last."""
        return list(dict.fromkeys([*self.columns.column_names, *self.refused]))


def read_table(path: Path, *, identity: str, hashed: Callable[[], str]) -> Table:
    """The table of the data file whose bytes have the hash `identity`.

    Raises
    ------
    IngestError
        Where the file is not what its name says, is damaged, or no longer has that hash after it was read.
    """
    form = form_with_columns(path)
    if form is None:
        raise IngestError(f"{short(path)} does not end in {', '.join(FORMS)}. Save the reviews in one of these forms.")
    if not path.stat().st_size:
        raise IngestError(f"{short(path)} is empty. Give a file with at least one review.")
    compressed = GZIP if is_compressed(path) else ""  # the same bytes under another name may have to be refused
    converted = cache_folder() / f"{identity}{form}{compressed}-{VERSION}.arrow"
    if not converted.is_file():
        with new_file(converted, mode=OWN, durable=False) as unfinished:
            convert(path, form, unfinished)
            if hashed() != identity:
                raise IngestError(f"{short(path)} changed while it was read. Run the same command again.")
    return _mapped(converted)


def _mapped(converted: Path) -> Table:
    columns = pa.ipc.open_stream(pa.memory_map(str(converted))).read_all()
    metadata: Mapping[bytes, bytes] = columns.schema.metadata or {}
    useless, other = (json.loads(metadata.get(key, b"{}")) for key in (REFUSED, NOT_TEXT))
    return Table(columns, useless, other, {})


def cache_folder() -> Path:
    """The folder of converted tables, beside what is downloaded from the hub; a temporary one where nothing can be written there."""
    from huggingface_hub.constants import HF_HOME

    folder = Path(HF_HOME) / "headscape"
    if not is_writable(folder):
        folder = own_temporary_folder() / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def form_with_columns(path: Path) -> str | None:
    """Form of a file that exists: a tsv with the columns of GAP is the table of GAP."""
    form = form_of(path)
    header = next(read_lines(path), "").rstrip("\r\n").split("\t") if form == TSV else ()
    return GAP_TABLE if {*GAP_COLUMNS} <= {*header} else form


def convert(path: Path, form: str, target: Path) -> None:
    """Write the Arrow file of a data file.

    Raises
    ------
    IngestError
        Where the file is not what its name says, or damaged; the message names the line or the row.
    """
    converters: dict[str, Callable[[Path, Path], None]] = {PLAIN: _convert_plain, PARQUET: _convert_parquet}
    converters |= {CSV: partial(_convert_rows, quoted=True), TSV: partial(_convert_rows, quoted=False)}
    converters |= dict.fromkeys(TREEBANKS, _convert_treebank)
    converters |= {CONLL: partial(_convert_mentions, read_coreference), GAP_TABLE: partial(_convert_mentions, read_gap)}
    converters.get(form, _convert_json)(path, target)


@dataclass(frozen=True)
class Dialect:
    """The way in which the rows of a text table are written.

    Attributes
    ----------
    quoted
        Whether a field may stand in double quotes; otherwise a quote is a letter.
    spaced
        Whether a space stands after every delimiter, as in `text, label`.
    """

    delimiter: str
    quoted: bool
    spaced: bool = False

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Every row of these lines without empty lines; a wrong quote is a `csv.Error` that names the line."""
        reader = csv.reader(
            lines,
            delimiter=self.delimiter,
            quoting=csv.QUOTE_MINIMAL if self.quoted else csv.QUOTE_NONE,
            skipinitialspace=self.spaced,
            strict=True,
        )
        try:
            yield from filter(None, reader)
        except csv.Error as error:
            raise csv.Error(f"line {reader.line_num:,} ({short(error)})") from error


def delimited_rows(path: Path, *, quoted: bool) -> Iterator[list[str]]:
    """The header of a text table, then its rows, all of one length; `quoted` is false for a tsv.

    Raises
    ------
    IngestError
        Where a row has more or fewer fields than the header, or quotes are not closed; the message names row and line.
    """
    csv.field_size_limit(LONGEST_FIELD)
    lines = read_lines(path)
    first = list(islice(lines, FIRST_LINES))
    separator = SEPARATOR.fullmatch(first[0].rstrip(LINE_BREAKS)) if first and quoted else None
    first = first[1:] if separator else first
    dialect = dialect_of(first, separator[1] if separator else None) if quoted else Dialect("\t", quoted=False)
    try:
        yield from _checked(path, dialect, dialect.rows(chain(first, lines)))
    except csv.Error as error:
        another = " Name it .tsv where quotes are a part of its texts." if dialect.delimiter == "\t" else ""
        raise IngestError(
            f"{short(path)} is no csv at {error}. Save it with quotes inside of a text doubled, and each text closed.{another}"
        ) from error


def dialect_of(first: list[str], delimiter: str | None = None) -> Dialect:
    """The dialect of a csv by its first lines: with its delimiter the header and the first row have most fields, equally many."""
    if delimiter is None:
        rows_of = {each: _first_rows(first, each) for each in DELIMITERS}
        named = [each for each, rows in rows_of.items() if rows and len(rows[0]) > 1 and '"' not in "".join(rows[0])]
        fitting = [each for each in named if len({*map(len, rows_of[each])}) == 1]
        delimiter = max(fitting or named or ",", key=lambda each: len(rows_of[each][0]) if rows_of[each] else 0)
    header = next(iter(_first_rows(first, delimiter)), [])
    return Dialect(delimiter, quoted=True, spaced=len(header) > 1 and all(title[:1] == " " for title in header[1:]))


def _convert_rows(path: Path, target: Path, *, quoted: bool) -> None:
    rows = delimited_rows(path, quoted=quoted)
    header = next(rows, [])
    twice = {title: "two columns" for title, count in Counter(header).items() if count > 1}
    places = [place for place, title in enumerate(header) if title not in twice]
    chosen = ([row[place] for place in places] for row in rows) if twice else rows
    titles = [header[place] for place in places]
    if header[-1:] == [PROVENANCE]:  # a file that Headscape saved
        titles, chosen = list(map(unguarded, titles)), (list(map(unguarded, row)) for row in chosen)
    _write_text(target, titles, chosen, {REFUSED: twice})


def _convert_plain(path: Path, target: Path) -> None:
    _write_text(target, ["text"], plain_rows(path), {})


def _convert_treebank(path: Path, target: Path) -> None:
    rows = ([text, annotation.to_json()] for text, annotation in read_treebank(read_lines(path), path.name))
    _write_text(target, ["text", ANNOTATION], rows, {})


def _convert_mentions(
    read: Callable[[Iterable[str], str], Iterator[tuple[str, MentionSpans]]], path: Path, target: Path
) -> None:
    rows = ([text, mentions.to_json()] for text, mentions in read(read_lines(path), path.name))
    _write_text(target, ["text", MENTIONS], rows, {})


def _convert_json(path: Path, target: Path) -> None:
    columns = JsonColumns.of(json_records(path))
    spelled = Counter(map(_encodable, columns.kinds))
    twice = {title: "two columns" for title, count in spelled.items() if count > 1}
    titles = [title for title in columns.titles if _encodable(title) not in twice]
    rows = (json_row(record, titles) for record in json_records(path))
    _write_text(target, titles, rows, {REFUSED: {**columns.refused, **twice}, NOT_TEXT: columns.not_text})


def _convert_parquet(path: Path, target: Path) -> None:
    with opened_parquet(path) as file:
        there = plain_schema(file.schema_arrow)
        useless = refused(there)
        schema = pa.schema([field for field in there if field.name not in useless])
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
    told = {key: {_encodable(title): held for title, held in each.items()} for key, each in description.items()}
    return schema.with_metadata({key: json.dumps(value).encode() for key, value in told.items()})


def _strings(texts: tuple[str | None, ...]) -> pa.Array:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        return pa.array([text and _encodable(text) for text in texts], pa.large_string())


def _encodable(text: str) -> str:
    """The text with replacements for halves of surrogate pairs, which JSON may escape and UTF-8 cannot encode."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _first_rows(first: list[str], delimiter: str) -> list[list[str]]:
    """The header and the first row, as far as they can be read."""
    rows: list[list[str]] = []
    try:
        for row in islice(Dialect(delimiter, quoted=True).rows(first), 2):
            rows.append(row)  # keeps the header where the row after it cannot be read
    except csv.Error:
        pass
    return rows


def _checked(path: Path, dialect: Dialect, rows: Iterator[list[str]]) -> Iterator[list[str]]:
    header = next(rows, [])
    yield [title.strip() for title in header] if dialect.spaced else header
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise IngestError(
                f"Row {number:,} of {short(path)} does not have as many fields as the header "
                f"({len(row):,} instead of {len(header):,}): {short(dialect.delimiter.join(row))}. "
                f"Save the file with every field in it, and {_remedy(dialect)}."
            )
        yield row


def _remedy(dialect: Dialect) -> str:
    if not dialect.quoted:
        return "without tabs and line breaks inside of a text; a .csv may have them between double quotes"
    return f"with double quotes around each text that has a {DELIMITERS.get(dialect.delimiter, dialect.delimiter)}"
