"""The lines of a text file, decoded one by one while a bar counts the bytes.

A file may be another than its name says: its first bytes tell what it is, and what to do about it. A line that is not UTF-8
names the encoding that it may have.
"""

import codecs
import gzip
import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from ingest.run.errors import IngestError, short
from ingest.run.files import POINTER, POINTER_START, is_compressed
from ingest.run.progress import bar

if TYPE_CHECKING:
    from tqdm import tqdm

#: Number of first bytes that tell what a file is.
ENOUGH = 512


class Kind(NamedTuple):
    """What a file is, and the remedy, in which `{name}` stands for its name without endings."""

    what: str
    remedy: str


COMPRESSED = "Give the unpacked file, or compress it with gzip."
SHEET = "Save the sheet as CSV UTF-8."
AS_CSV = "Save its table as CSV or Parquet."
GZIPPED = Kind("what is compressed with gzip", "Name it {name}.gz, or unpack it.")
ZIPPED = Kind("a zip archive", "Give the unpacked file.")
PARQUET_FILE = Kind("Parquet", "Name it {stem}.parquet.")
ARROWS = tuple(Kind(what, "Name it {stem}.arrow.") for what in ("an Arrow file", "an Arrow stream"))
#: Beginnings of the first block of bzip2, and of the end of an empty file.
BZIP2_BLOCKS = (bytes.fromhex("314159265359"), bytes.fromhex("177245385090"))
#: First and last bytes of Parquet, its first header, and bytes of the shortest file.
PAR1, PARQUET_HEADER, SHORTEST_PARQUET = b"PAR1", b"\x15", 12
#: Kinds of files by their first bytes.
SIGNATURES: Mapping[bytes, Kind] = {
    b"\x1f\x8b": GZIPPED,
    b"PK\x03\x04": ZIPPED,
    **{
        b"BZh%d" % level + block: Kind("what is compressed with bzip2", COMPRESSED)
        for level in range(1, 10)
        for block in BZIP2_BLOCKS
    },
    b"\xfd7zXZ\x00": Kind("what is compressed with xz", COMPRESSED),
    b"\x28\xb5\x2f\xfd": Kind("what is compressed with zstd", COMPRESSED),
    b"7z\xbc\xaf\x27\x1c": Kind("a 7z archive", "Give the unpacked file."),
    PAR1: PARQUET_FILE,
    b"ARROW1\x00\x00": ARROWS[0],
    b"\xff\xff\xff\xff": ARROWS[1],
    b"SQLite format 3\x00": Kind("an SQLite database", AS_CSV),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": Kind("a spreadsheet or document of an old Office", SHEET),
    **dict.fromkeys((b"%PDF-1.", b"%PDF-2."), Kind("a PDF", "Save its text as .txt, such as with `pdftotext`.")),
    b"\x89HDF\r\n\x1a\n": Kind("HDF5", AS_CSV),
    b"\x93NUMPY": Kind("an array of numpy", AS_CSV),
    **{bytes([0x80, protocol]): Kind("a pickle of Python", AS_CSV) for protocol in range(2, 6)},
    POINTER_START: Kind(*POINTER),
}
#: Names in a zip archive that say what it is.
IN_ZIP = {
    "xl/workbook.xml": Kind("a spreadsheet of Excel", SHEET),
    "xl/workbook.bin": Kind("a spreadsheet of Excel", SHEET),
    "content.xml": Kind("a spreadsheet or document of LibreOffice", SHEET),
    "word/document.xml": Kind("a document of Word", "Save its text as .txt in UTF-8."),
}
HTML = Kind("a page of the web", "Save the file itself: the page may ask to sign in, or say that it is not there.")
JSON = Kind("JSON", "Name it {stem}.jsonl.")
#: Beginnings of a page of the web, and of JSON whose records are objects.
STARTS = {re.compile(rb"<(!doctype\s+html|html)\b", re.IGNORECASE): HTML, re.compile(rb'(\[\s*)*\{\s*"'): JSON}
#: Endings of tables of text: no row of these is a page or JSON, while the text of a review may be anything.
TABLES = (".csv", ".tsv", ".tab")
JSONS = (".json", ".jsonl", ".ndjson")


def check_is(path: Path, first: bytes) -> None:
    """Raise IngestError where bytes that a text file begins with, unpacked, are those of something else."""
    packed = is_compressed(path)
    inner = path.with_suffix("") if packed else path
    kind = kind_of(first)
    if kind is None or (kind == PARQUET_FILE and not _is_parquet(path, first)):
        kind = _kind_of_text(first, inner.suffix.lower())
    if kind == ZIPPED and not packed:
        kind = _kind_of_zip(path)
    if kind is not None:
        remedy = kind.remedy.format(name=short(inner.name), stem=short(inner.stem))
        if packed and kind in (GZIPPED, ZIPPED):
            raise IngestError(f"{short(path)} holds {kind.what}. Give the unpacked file.")
        about = f"holds {kind.what}. Unpack it." if packed else f"is {kind.what.removeprefix('what is ')}."
        raise IngestError(f"{short(path)} {about} {remedy}")


def check_not_another(path: Path, *own: Kind) -> None:
    """Raise IngestError where a file that is no text is of another kind than its name says."""
    with path.open("rb") as file:
        first = file.read(ENOUGH)
    if kind_of(first) not in own:
        check_is(path, first)


def kind_of(first: bytes) -> Kind | None:
    """The kind of file that begins with these bytes; None for text."""
    return next((kind for signature, kind in SIGNATURES.items() if first.startswith(signature)), None)


def _is_parquet(path: Path, first: bytes) -> bool:
    """Whether a file that begins as Parquet has a header that no text has, or also ends as Parquet, after a footer's length."""
    if first.startswith(PAR1 + PARQUET_HEADER):
        return True
    if not path.exists():  # of a name without an ending that was asked about
        return False
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - 8))
        length, end = file.read(4), file.read(4)
    return end == PAR1 and int.from_bytes(length, "little") <= size - SHORTEST_PARQUET


def _kind_of_text(first: bytes, ending: str) -> Kind | None:
    start = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    kind = next((kind for pattern, kind in STARTS.items() if pattern.match(start)), None)
    return kind if ending in TABLES or (kind == HTML and ending in JSONS) else None


def _kind_of_zip(path: Path) -> Kind:
    try:
        with zipfile.ZipFile(path) as archive:
            names = {*archive.namelist()}
    except (zipfile.BadZipFile, OSError):
        return ZIPPED
    return next((kind for name, kind in IN_ZIP.items() if name in names), ZIPPED)


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
#: Encoding, by which of the first four bytes are zero, where text begins with two letters of ASCII (RFC 4627, section 3).
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
def counted(path: Path, stage: str, *, at_once: int = READ_AT_ONCE) -> Iterator[BinaryIO]:
    """The bytes of a file, `at_once` read at a time, counted on a bar of their total."""
    with path.open("rb", buffering=0) as file:
        total = os.fstat(file.fileno()).st_size
        with bar(stage, total=total, unit="B", delay=1) as progress:
            yield io.BufferedReader(_CountedFile(file, progress), at_once)


def read_lines(path: Path, *, at_once: int = READ_AT_ONCE) -> Iterator[str]:
    """The lines of a file in UTF-8, UTF-16 or UTF-32 with their line breaks.

    Raises
    ------
    IngestError
        Where the file is compressed, or in another encoding; the message names the line.
    """
    with counted(path, "reading", at_once=at_once) as file:
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
    """The error that names the first line that is not UTF-8, and the encoding that the file is likely in."""
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
