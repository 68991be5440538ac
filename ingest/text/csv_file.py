"""The rows of a csv file: each has as many fields as the header, and each field is the text that stands there."""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

from ingest.errors import IngestError, short
from ingest.text.lines import read_lines


def csv_header(path: Path) -> list[str]:
    """Titles of the columns."""
    return next(_rows(path), [])


def csv_rows(path: Path) -> Iterator[list[str]]:
    """Every row after the header; empty lines are none.

    Raises
    ------
    IngestError
        Where a row has more or fewer fields than the header, or quotes are not closed; the message names row and line.
    """
    rows = _rows(path)
    width = len(next(rows, []))
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            raise IngestError(
                f"Row {number:,} of {short(path)} does not have as many fields as the header "
                f"({len(row):,} instead of {width:,}): {short(','.join(row))}. "
                "Save the file with every field in it, and with double quotes around each text that has a comma."
            )
        yield row


def _rows(path: Path) -> Iterator[list[str]]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # of a field in bytes; the default of 131,072 is less than a book
    reader = csv.reader(read_lines(path), strict=True)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise IngestError(
                f"{short(path)} is no csv at line {reader.line_num:,} ({error}). "
                "Save it with quotes inside of a text doubled, and each text closed."
            ) from error
        if row:
            yield row
