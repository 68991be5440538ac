"""The lines of a text file, decoded one by one while a bar counts the bytes; the rows of plain text and of csv."""

import csv
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ingest.run.errors import IngestError, short
from ingest.run.progress import bar

if TYPE_CHECKING:
    from tqdm import tqdm

#: A file that ends so is decompressed while it is read.
GZIP = ".gz"
READ_AT_ONCE = 1 << 20
#: First bytes of files that are something other than their name says.
SIGNATURES = {
    b"\x1f\x8b": "compressed with gzip",
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"PAR1": "Parquet",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


class _CountedFile(io.RawIOBase):
    """A file whose bytes a bar counts as they are read."""

    def __init__(self, file: BinaryIO, progress: "tqdm[None]") -> None:
        self._file, self._progress = file, progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = self._file.readinto(buffer)  # type: ignore[attr-defined]
        self._progress.update(count)
        return int(count)


@contextmanager
def counted(path: Path, stage: str) -> Iterator[BinaryIO]:
    """The bytes of a file, counted on a bar of their total."""
    with path.open("rb", buffering=0) as file:
        total = os.fstat(file.fileno()).st_size
        with bar(stage, total=total, unit="B", delay=1) as progress:
            yield io.BufferedReader(_CountedFile(file, progress), READ_AT_ONCE)


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file in UTF-8 with their line breaks.

    Raises
    ------
    IngestError
        Where the file is compressed, in another encoding, or a line is not UTF-8; the message names the line.
    """
    with counted(path, "reading") as file:
        compressed = path.suffix == GZIP
        source = gzip.GzipFile(fileobj=file) if compressed else file
        try:
            _check_signature(path, source)
            yield from _decoded(path, source)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            if not compressed:
                raise
            raise IngestError(f"{short(path)} is not whole gzip. Save it again, or unpack it and give that.") from error


def plain_rows(path: Path) -> Iterator[list[str]]:
    """Every line of a text file as a row of one text."""
    for line in read_lines(path):
        for row in line.replace("\r\n", "\n").removesuffix("\n").replace("\r", "\n").split("\n"):
            yield [row]


def _check_signature(path: Path, source: BinaryIO | gzip.GzipFile) -> None:
    first = source.peek(8)[:8]  # type: ignore[union-attr]  # both are buffered
    kind = next((kind for signature, kind in SIGNATURES.items() if first.startswith(signature)), None)
    if kind == SIGNATURES[b"\x1f\x8b"] and path.suffix != GZIP:
        raise IngestError(f"{short(path)} is {kind}. Name it {short(path.name)}{GZIP}, or unpack it.")
    if kind:
        raise IngestError(f"{short(path)} is {kind}. Save it as UTF-8 text.")


def _decoded(path: Path, source: BinaryIO | gzip.GzipFile) -> Iterator[str]:
    encoding = "utf-8-sig"
    for number, line in enumerate(source, 1):
        try:
            yield line.decode(encoding)
        except UnicodeDecodeError as error:
            raise IngestError(
                f"Line {number:,} of {short(path)} is not UTF-8 (byte {error.start + 1:,} of the line). Save it as UTF-8 text."
            ) from error
        encoding = "utf-8"


def csv_header(path: Path) -> list[str]:
    """The header of a csv file: titles of its columns."""
    return next(_rows(path), [])


def csv_rows(path: Path) -> Iterator[list[str]]:
    """Every row of a csv file after the header, without empty lines.

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
