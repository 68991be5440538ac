"""What a file is by its first bytes, where its name says something else; with what to do about it."""

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ingest.run.errors import IngestError, short

#: A file that ends so is decompressed while it is read.
GZIP = ".gz"
#: First bytes that are enough to tell.
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
PARQUET = Kind("Parquet", "Name it {stem}.parquet.")
ARROWS = tuple(Kind(what, "Name it {stem}.arrow.") for what in ("an Arrow file", "an Arrow stream"))
POINTER = Kind("a pointer of Git LFS, not the data", "Run `git lfs pull` in its folder, then the same command.")
#: How files begin.
SIGNATURES: Mapping[bytes, Kind] = {
    b"\x1f\x8b": GZIPPED,
    b"PK\x03\x04": ZIPPED,
    b"BZh": Kind("what is compressed with bzip2", COMPRESSED),
    b"\xfd7zXZ\x00": Kind("what is compressed with xz", COMPRESSED),
    b"\x28\xb5\x2f\xfd": Kind("what is compressed with zstd", COMPRESSED),
    b"7z\xbc\xaf\x27\x1c": Kind("a 7z archive", "Give the unpacked file."),
    b"PAR1": PARQUET,
    b"ARROW1": ARROWS[0],
    b"\xff\xff\xff\xff": ARROWS[1],
    b"SQLite format 3\x00": Kind("an SQLite database", AS_CSV),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": Kind("a spreadsheet or document of an old Office", SHEET),
    b"%PDF-": Kind("a PDF", "Save its text as .txt, such as with `pdftotext`."),
    b"\x89HDF\r\n\x1a\n": Kind("HDF5", AS_CSV),
    b"\x93NUMPY": Kind("an array of numpy", AS_CSV),
    **{bytes([0x80, protocol]): Kind("a pickle of Python", AS_CSV) for protocol in range(2, 6)},
    b"version https://git-lfs.github.com/spec/": POINTER,
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
#: How a page of the web begins, and JSON whose records are objects.
STARTS = {re.compile(rb"<(!doctype\s+html|html)\b", re.IGNORECASE): HTML, re.compile(rb'(\[\s*)*\{\s*"'): JSON}
#: Endings of tables of text, which a page or JSON is no row of; the text of a review may be anything.
TABLES = (".csv", ".tsv", ".tab")
JSONS = (".json", ".jsonl", ".ndjson")


def check_is(path: Path, first: bytes) -> None:
    """Raise IngestError where bytes that a text file begins with, unpacked, are those of something else."""
    packed = path.suffix.lower() == GZIP
    inner = path.with_suffix("") if packed else path
    kind = kind_of(first) or _kind_of_text(first, inner.suffix.lower())
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
    """What begins with these bytes; None for text."""
    return next((kind for signature, kind in SIGNATURES.items() if first.startswith(signature)), None)


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
