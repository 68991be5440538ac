"""The lines of a text file, decoded one by one while a bar counts the bytes."""

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ingest.run.errors import IngestError, short
from ingest.run.progress import bar
from ingest.text.encoding import OLDER, UTF_8, encoding_of, older_encoding

if TYPE_CHECKING:
    from tqdm import tqdm

#: A file that ends so is decompressed while it is read.
GZIP = ".gz"
READ_AT_ONCE = 1 << 20
#: A line may end as on Unix, on Windows, or in old files of a Macintosh.
LINE_BREAKS = "\r\n"
#: Bytes from which the encoding of a file that is not UTF-8 is guessed, and characters of it that a message shows.
GUESSED_FROM, SHOWN = 1 << 16, 40
#: First bytes of files that are something other than their name says.
SIGNATURES = {
    b"\x1f\x8b": "compressed with gzip",
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"PAR1": "Parquet",
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


def is_compressed(path: Path) -> bool:
    """Whether a file is named as compressed with gzip."""
    return path.suffix.lower() == GZIP


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file in UTF-8, UTF-16 or UTF-32 with their line breaks.

    Raises
    ------
    IngestError
        Where the file is compressed, or in another encoding; the message names the line.
    """
    with counted(path, "reading") as file:
        source = gzip.GzipFile(fileobj=file) if is_compressed(path) else file
        try:
            first = source.peek(8)[:8]  # type: ignore[union-attr]  # both are buffered
            _check_signature(path, first)
            yield from _decoded(path, source, encoding_of(first))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            if not is_compressed(path):
                raise
            raise IngestError(f"{short(path)} is not whole gzip. Save it again, or unpack it and give that.") from error


def plain_rows(path: Path) -> Iterator[list[str]]:
    """Every line of a text file as a row of one text."""
    for line in read_lines(path):
        yield [line.rstrip(LINE_BREAKS)]


def _check_signature(path: Path, first: bytes) -> None:
    kind = next((kind for signature, kind in SIGNATURES.items() if first.startswith(signature)), None)
    if kind == SIGNATURES[b"\x1f\x8b"] and not is_compressed(path):
        raise IngestError(f"{short(path)} is {kind}. Name it {short(path.name)}{GZIP}, or unpack it.")
    if kind:
        raise IngestError(f"{short(path)} is {kind}. Save it as UTF-8 text.")


def _decoded(path: Path, source: BinaryIO | gzip.GzipFile, encoding: str) -> Iterator[str]:
    try:
        yield from io.TextIOWrapper(source, encoding, newline="")
    except UnicodeDecodeError as error:
        if encoding != UTF_8:
            raise IngestError(f"{short(path)} is not whole {encoding[:6].upper()}. Save it as UTF-8 text.") from error
        raise _not_utf8(path) from error


def _not_utf8(path: Path) -> IngestError:
    """Names the first line that is not UTF-8, and the encoding that the file is likely in."""
    breaks = 0
    with (gzip.open if is_compressed(path) else open)(path, "rb") as file:
        for line in file:
            wrong = _first_wrong_byte(line)
            if wrong is not None:
                break
            breaks += len(re.findall(rb"\r\n?|\n", line))
        sample = line + file.read(GUESSED_FROM)
    before = re.split(rb"\r(?!\n)", line[:wrong])
    place = f"Line {breaks + len(before):,} of {short(path)} is not UTF-8 (byte {len(before[-1]) + 1:,} of the line"
    encoding = older_encoding(sample[:GUESSED_FROM])
    if encoding is None:
        return IngestError(f"{place}). Save it as UTF-8 text.")
    shown = short(line.decode(encoding, "replace").strip()[:SHOWN])
    return IngestError(
        f"{place}; in {OLDER[encoding]} it reads {shown!r}). "
        f"Save it as UTF-8 text, such as with `iconv -f {OLDER[encoding]} -t UTF-8`."
    )


def _first_wrong_byte(line: bytes) -> int | None:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None
