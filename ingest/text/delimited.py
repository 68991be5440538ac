"""The rows of text tables: csv with the usual delimiters, and tsv, whose quotes are a part of the text."""

import csv
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from ingest.run.errors import IngestError, short
from ingest.text.lines import LINE_BREAKS, read_lines

#: What may separate the fields of a csv file, with its name; of two that fit alike, the first does.
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
#: The first line of a file that Excel saved for another country.
SEPARATOR = re.compile(r"sep=(.)")
#: Lines in which the header and the first row are looked for.
FIRST_LINES = 100
#: Of a field in bytes; the default of 131,072 is less than a book.
LONGEST_FIELD = min(sys.maxsize, 2**31 - 1)


@dataclass(frozen=True)
class Dialect:
    """How the rows of a text table are written.

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


TSV = Dialect("\t", quoted=False)


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
    dialect = dialect_of(first, separator[1] if separator else None) if quoted else TSV
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
