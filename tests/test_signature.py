"""Files of another kind than their name says: the message names the kind, and a remedy."""

import bz2
import gzip
import io
import pickle
import sqlite3
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.run.errors import IngestError
from ingest.text.lines import read_lines
from ingest.text.table import read_table

TABLE = pa.table({"text": ["A film."], "label": ["positive"]})
#: Texts that begin like files of another kind.
WORDS = ["BZh", "BZh9 is a name.", "PAR1", "PAR1 and a line\nthat ends in PAR1", "ARROW1 flew.", "%PDF-files are long."]
PAGE = b"\n<!DOCTYPE HTML>\n<html><title>Sign in</title>"


def parquet() -> bytes:
    pq.write_table(TABLE, sink := io.BytesIO())
    return sink.getvalue()


def arrow(*, stream: bool) -> bytes:
    sink = io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return sink.getvalue()


def zipped(name: str) -> bytes:
    with zipfile.ZipFile(content := io.BytesIO(), "w") as archive:
        archive.writestr(name, "A film.")
    return content.getvalue()


def database() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table reviews (text)")
    return connection.serialize()


@pytest.mark.parametrize(
    ("name", "content", "sentences"),
    [
        ("a.csv", parquet(), "is Parquet. Name it a.parquet."),
        ("a.csv", parquet()[:-9], "is Parquet. Name it a.parquet."),
        ("a.csv", parquet().replace(b"PAR1\x15", b"PAR1\x00", 1), "is Parquet. Name it a.parquet."),
        ("a.tsv", arrow(stream=False), "is an Arrow file. Name it a.arrow."),
        ("a.csv", arrow(stream=True), "is an Arrow stream. Name it a.arrow."),
        ("a.csv", gzip.compress(b"text\n", mtime=0), "is compressed with gzip. Name it a.csv.gz, or unpack it."),
        ("a.csv", zipped("a.csv"), "is a zip archive. Give the unpacked file."),
        ("a.csv", b"PK\x03\x04 cut", "is a zip archive. Give the unpacked file."),
        ("a.csv", zipped("xl/workbook.xml"), "is a spreadsheet of Excel. Save the sheet as CSV UTF-8."),
        ("a.txt", zipped("word/document.xml"), "is a document of Word. Save its text as .txt in UTF-8."),
        ("a.csv", bz2.compress(b"text\n"), "is compressed with bzip2. Give the unpacked file, or compress it with gzip."),
        ("a.csv", bz2.compress(b"", 1), "is compressed with bzip2. Give the unpacked file, or compress it with gzip."),
        ("a.csv", database(), "is an SQLite database. Save its table as CSV or Parquet."),
        ("a.csv", pickle.dumps([1]), "is a pickle of Python. Save its table as CSV or Parquet."),
        ("a.txt", b"%PDF-1.7\n", "is a PDF. Save its text as .txt, such as with `pdftotext`."),
        ("a.csv", PAGE, "is a page of the web. Save the file itself: the page may ask to sign in, or say that it is not there."),
        ("a.json", PAGE, "is a page of the web. Save the file itself: the page may ask to sign in, or say that it is not there."),
        ("a.csv", b'[\n {"text": "A film."}]', "is JSON. Name it a.jsonl."),
        ("a.csv.gz", gzip.compress(parquet(), mtime=0), "holds Parquet. Unpack it. Name it a.parquet."),
        ("a.csv.gz", parquet(), "is Parquet. Name it a.parquet."),
        ("a.csv.gz", b"text\nA film.\n", "is not compressed with gzip. Name it a.csv."),
        ("a.parquet", gzip.compress(b"text\n", mtime=0), "is compressed with gzip. Name it a.parquet.gz, or unpack it."),
        ("a.parquet", arrow(stream=True), "is an Arrow stream. Name it a.arrow."),
        ("a.csv", b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS, not the data. Run `git lfs pull` in its folder, then the same command."),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_named_with_the_remedy(
    name: str, content: bytes, sentences: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(IngestError) as refused:
        read_table(tmp_path / name, identity=name, hashed=lambda: name)
    assert str(refused.value).endswith(f"{name.removesuffix('.gz') if 'is Parquet' in sentences else name} {sentences}")


@pytest.mark.parametrize("text", ["<html> is a tag.", '{"quoted": braces}', "PK, a name.", "€ 5", "", *WORDS])
def test_a_plain_text_may_begin_as_it_likes(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    assert "".join(read_lines(tmp_path / "a.txt")) == text
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    assert "".join(read_lines(tmp_path / "a.txt.gz")) == text
