"""The lines of a text file, decoded one by one while a bar counts the bytes; its encoding, and what a line that is not UTF-8 may be."""

import codecs
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ingest.run.errors import IngestError, short
from ingest.run.progress import bar
from ingest.text.signature import ENOUGH, GZIP, GZIPPED, check_is, kind_of

if TYPE_CHECKING:
    from tqdm import tqdm

READ_AT_ONCE = 1 << 20
#: A line may end as on Unix, on Windows, or in old files of a Macintosh.
LINE_BREAKS = "\r\n"
#: Bytes from which the encoding of a file that is not UTF-8 is guessed, and characters of it that a message shows.
GUESSED_FROM, SHOWN = 1 << 16, 40
#: Byte-order marks; that of UTF-32 begins with that of UTF-16.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: Which of the first four bytes are zero where text begins with two letters of ASCII (RFC 4627, section 3).
ZEROS: Mapping[tuple[bool, ...], str] = {
    (False, True, True, True): "utf-32-le",
    (True, True, True, False): "utf-32-be",
    (False, True, False, True): "utf-16-le",
    (True, False, True, False): "utf-16-be",
}
UTF_8 = "utf-8-sig"
#: Encodings of older files by Python's name -> their name for iconv.
OLDER: Mapping[str, str] = {
    "cp1252": "WINDOWS-1252",
    "cp1251": "WINDOWS-1251",
    "koi8_r": "KOI8-R",
    "cp932": "CP932",
    "euc_jp": "EUC-JP",
    "gb18030": "GB18030",
    "euc_kr": "EUC-KR",
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
            first = source.peek(ENOUGH)[:ENOUGH]  # type: ignore[union-attr]  # both are buffered
            check_is(path, first)
            yield from _decoded(path, source, encoding_of(first))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            if not is_compressed(path):
                raise
            raise _not_gzip(path) from error


def _not_gzip(path: Path) -> IngestError:
    with path.open("rb") as file:
        first = file.read(ENOUGH)
    if kind_of(first) == GZIPPED:
        return IngestError(f"{short(path)} is not whole gzip. Save it again, or unpack it and give that.")
    check_is(path.with_suffix(""), first)
    return IngestError(f"{short(path)} is not compressed with gzip. Name it {short(path.with_suffix('').name)}.")


def plain_rows(path: Path) -> Iterator[list[str]]:
    """Every line of a text file as a row of one text."""
    for line in read_lines(path):
        yield [line.rstrip(LINE_BREAKS)]


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


def encoding_of(first: bytes) -> str:
    """The encoding of a file that begins with these bytes: UTF-16 or UTF-32 where they say so, else UTF-8."""
    marked = next((encoding for mark, encoding in MARKS.items() if first.startswith(mark)), None)
    return marked or ZEROS.get(tuple(byte == 0 for byte in first[:4]), UTF_8)


def older_encoding(sample: bytes) -> str | None:
    """The encoding that bytes that are not UTF-8 are most likely in; None where none of `OLDER` is."""
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=list(OLDER)).best()
    return best.encoding if best and best.encoding in OLDER else None
