"""Data files: any name is literal, and a file is read by its content or refused in one sentence that names the place."""

import csv
import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.run.errors import IngestError
from ingest.run.files import sha256
from ingest.text.reviews import Reviews, find_data, read_reviews
from tests.complaints import INSTRUCTION

Texts = list[tuple[str, str]]
CSV = b'text,label\n"A good film, really.",1\nA bad film.,0\n'
#: Reviews of `CSV`, and of every file that holds the same reviews.
REVIEWS = [("A good film, really.", "1"), ("A bad film.", "0")]
JSONL = b"".join(json.dumps({"text": text, "label": label}).encode() + b"\n" for text, label in REVIEWS)
NAMES = [
    "a[1]", "a*", "a?", "a,b", "a b", "a::b", "hf:b", "zip:b", "-b", "$HOME", "~", "a%20b", "a#b", "a\nb", "\u6620\u753b", "it's", "{a}"
]  # fmt: skip


def read(path: Path, text: str = "text", label: str = "label") -> Reviews:
    return read_reviews(find_data(str(path)), text=text, label=label)


def texts(reviews: Reviews) -> Texts:
    return [(review.text, [*reviews.label_names, ""][review.label]) for review in reviews]


def parquet(columns: dict[str, Any] | pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns) if isinstance(columns, dict) else columns, sink)
    return sink.getvalue()


def packed(content: bytes) -> bytes:
    """Content compressed with gzip without the time of day: test processes must find the same names of tests."""
    return gzip.compress(content, mtime=0)


def refusal(path: Path, **columns: str) -> str:
    """The one sentence with which a file is refused."""
    with pytest.raises(IngestError) as refused:
        read(path, **columns)
    assert INSTRUCTION.search(str(refused.value)), f"says no next step: {refused.value}"
    assert str(refused.value).isprintable()
    return str(refused.value)


# -- names ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        (".csv", CSV),
        (".csv.gz", packed(CSV)),
        (".jsonl", JSONL),
        (".jsonl.gz", packed(JSONL)),
        (".json", json.dumps([{"text": text, "label": label} for text, label in REVIEWS], indent=1).encode()),
        (".ndjson", JSONL),
        (".tsv", b"text\tlabel\nA good film, really.\t1\nA bad film.\t0\n"),
        (".tab", b"text\tlabel\nA good film, really.\t1\nA bad film.\t0\n"),
        (".parquet", parquet({"text": [text for text, _ in REVIEWS], "label": [label for _, label in REVIEWS]})),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_file_is_literal(name: str, ending: str, content: bytes, tmp_path: Path) -> None:
    for other in ("a1", "ab", "a", "b"):
        (tmp_path / f"{other}{ending}").write_bytes(b"another file")
    (tmp_path / f"{name}{ending}").write_bytes(content)
    assert texts(read(tmp_path / f"{name}{ending}")) == REVIEWS


def test_the_recorded_hash_is_that_of_the_bytes_that_were_read(tmp_path: Path) -> None:
    """The second file has the same name, size and time of change."""
    path = tmp_path / "reviews.txt"
    for text in ("A good film.", "A sad film.."):
        path.write_text(text)
        os.utime(path, (0, 0))
        data = find_data(str(path))
        assert (data.identity, texts(read(path))) == (sha256([path]), [(text, "")])


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "reviews.txt"
    path.write_text("What was hashed.")
    data = find_data(str(path))
    path.write_text("What came later.")
    with pytest.raises(IngestError, match=r"reviews.txt changed while it was read\. Run "):
        read_reviews(data, text="text", label="label")


@pytest.mark.parametrize("name", ["x" * 5000, "x" * 5000 + ".csv", "a\0b", "a\nb", "hf://a/b", "::"])
def test_a_name_that_is_no_file_is_shown_short_and_on_one_line(name: str) -> None:
    with pytest.raises(IngestError, match="Give --data=") as refused:
        find_data(name)
    assert len(str(refused.value)) < 300
    assert str(refused.value).isprintable()


# -- what stands in a file ------------------------------------------------------------------------------

STRUCTS, LISTS, BYTES = [{"a": 1}] * 2, [["a"]] * 2, [b"a"] * 2


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("more.csv", b"text,label\na,1\nb, c,0\n", "Row 2 of * (3 instead of 2): b, c,0"),
        ("fewer.csv", b"text,label\na,1\n\nb\n", "Row 2 of * (1 instead of 2): b"),
        ("all.csv", b"text,label\na,1,2\nb,0,2\n", "Row 1 of * (3 instead of 2): a,1,2"),
        ("open.csv", b'text,label\na,1\n"b,0\n', "no csv at line 3"),
        ("twice.csv", b"text,text\na,b\n", "'text' of twice does not hold text but two columns"),
        ("zipped.csv", packed(CSV), "is compressed with gzip. Name it zipped.csv.gz"),
        ("twice.csv.gz", packed(packed(CSV)), "holds what is compressed with gzip. Give the unpacked file."),
        ("cut.csv.gz", packed(CSV)[:-9], "is not whole gzip"),
        ("plain.csv.gz", CSV, "is not compressed with gzip. Name it "),
        ("zip.csv", b"PK\x03\x04" + CSV, "is a zip archive"),
        ("wide.csv", CSV.decode().encode("utf-16")[:-1], "is not whole UTF-16"),
        ("latin.csv", CSV + b"caf\xe9,1\n", "Line 4 of * is not UTF-8 (byte 4 of the line"),
        ("parquet.csv", parquet({"text": ["a"]}), "is Parquet. Name it parquet.parquet."),
        ("nothing.csv", bytes(99), r"has no column 'text', it has: \x00"),
        ("bad.jsonl", b'{"text":"a"}\n{"text":"\xff"}\n', "Line 2 of * is not UTF-8"),
        ("half.jsonl", b'{"text":"a"}\n{"text":\n', "Line 2 of * is no JSON object"),
        ("array.jsonl", b'["a"]\n', "is an array whose first entry is text, which names no columns"),
        ("array.json", b'[{"text":"a"},\n3]', "Record 2 of * is no JSON object"),
        ("deep.jsonl", b'{"text":' + b"[" * 50_000, "Line 1 of * is no JSON object"),
        ("long.jsonl", b'{"text":"a","n":' + b"9" * 5000 + b"}", "Line 1 of * is no JSON object"),
        ("lists.jsonl", b'{"text":"a"}\n{"text":["b"]}', "not hold text but text in row 1 and a list in row 2"),
        ("numbers.jsonl", b'{"text":null}\n{"text":5}', "does not hold text but a number in row 2"),
        ("cut.parquet", parquet({"text": ["a"]})[:-9], "is not whole Parquet"),
        ("structs.parquet", parquet({"text": STRUCTS, "b": ["a"] * 2}), "struct<a: int64>; columns of text: b"),
        ("lists.parquet", parquet({"text": LISTS}), "not hold text but list<element: string>; columns of text: none"),
        ("bytes.parquet", parquet({"text": BYTES}), "does not hold text but binary"),
        ("numbers.parquet", parquet({"text": [1, 2]}), "does not hold text but int64"),
        ("reviews.parquet.gz", b"", "does not end in"),
        ("fields.tsv", b"text\tlabel\na\tb\t1\n", "Row 1 of * (3 instead of 2): a\\tb\\t1"),
        ("quote.csv", b'text\tlabel\n"a\t1\nb "c\t0\n', "Name it .tsv where quotes are a part of its texts"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_rightly_is_refused_with_its_place(
    name: str, content: bytes, part: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    message = refusal(tmp_path / name)
    assert all(piece in message for piece in part.split("*")), message


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("mixed.jsonl", b'{"text":"a","label":1}\n{"text":"b","label":"x"}', "a number in row 1 and text in row 2"),
        ("lists.jsonl", b'{"text":"a","label":[1]}', "a list in row 1"),
        ("structs.parquet", parquet({"text": ["a"] * 2, "label": STRUCTS}), "struct<a: int64>"),
        ("many.csv", b"text,label\n" + b"".join(b"a,%d\n" % n for n in range(300)), "more than 256 different values"),
    ],
)
def test_labels_are_refused_for_the_reason_that_is_the_reason(
    name: str, content: bytes, reason: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    message = refusal(tmp_path / name)
    assert "The column 'label' of " in message
    assert reason in message


@pytest.mark.parametrize(
    ("name", "content", "labels"),
    [
        ("days.csv", b"text,label\na,2020-02-01\nb,2019-03-01\n", ["2019-03-01", "2020-02-01"]),
        ("days.jsonl", b'{"text":"a","label":"2020-02-01"}', ["2020-02-01"]),
        ("truth.jsonl", b'{"text":"a","label":true}\n{"text":"b","label":false}', ["False", "True"]),
        ("stars.jsonl", b'{"text":"a","label":10}\n{"text":"b","label":9.0}', ["9", "10"]),
        ("stars.csv", b"text,label\na,10\nb,9\nc,NA\n", ["9", "10"]),
        ("nothing.jsonl", b'{"text":"a","label":1}\n{"text":"b","label":NaN}', ["1"]),
        ("without_end.csv", b"text,label\na,10\nb,-inf\nc,nan\nd,9\n", ["-inf", "9", "10"]),
        ("late.csv", b"text,label\n" + b"a,1\n" * 10_001 + b"b,x\n", ["1", "x"]),
        ("coded.parquet", parquet(pa.table({"text": ["a", "b"], "label": pa.array(["y", "x"]).dictionary_encode()})), ["x", "y"]),
    ],
)  # fmt: skip
def test_labels_are_any_few_values(name: str, content: bytes, labels: list[str], tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert read(tmp_path / name).label_names == labels


def test_numbers_of_json_without_bound_are_no_categories(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"text":"a","s":NaN}\n{"text":"b","s":2}\n{"text":"c","s":Infinity}')
    assert read(tmp_path / "s.jsonl").columns.categorical == []


def test_half_a_surrogate_pair_in_json_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "half.jsonl").write_text('{"text": "a \\ud800 b", "\\ud800": 1}')
    assert texts(read(tmp_path / "half.jsonl")) == [("a \ufffd b", "")]


def test_a_file_of_a_hundred_thousand_columns_names_some_of_them(tmp_path: Path) -> None:
    titles = ",".join(f"c{number}" for number in range(100_000))
    (tmp_path / "wide.csv").write_text(f"{titles}\n{',' * 99_999}\n")
    assert "it has: c0, c1, c2" in (message := refusal(tmp_path / "wide.csv"))
    assert "and 99,980 more" in message


def test_a_line_that_is_a_book_is_read(tmp_path: Path) -> None:
    book = "A long film. " * 100_000
    (tmp_path / "book.csv").write_text(f'text,label\n"{book}",1\n')
    assert texts(read(tmp_path / "book.csv")) == [(book, "1")]


# -- anything -------------------------------------------------------------------------------------------

ROWS = st.lists(st.lists(st.text(max_size=5), min_size=2, max_size=3), max_size=5)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def is_read_or_refused(folder: Path, name: str, content: bytes) -> None:
    """Assert that a file is read, or refused in one sentence that says what to do."""
    path = folder / name
    path.write_bytes(content)
    message = "Read. Give more."
    try:
        assert all(isinstance(review.text, str) for review in read(path))
    except IngestError as error:
        message = str(error)
    assert INSTRUCTION.search(message), message
    assert message.isprintable(), message


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".jsonl", ".json", ".parquet", ".txt"])
def test_any_bytes_are_read_or_refused(ending: str, folder: Path) -> None:
    start = parquet({"text": ["a", "b"], "label": [1, 2]}) if ending == ".parquet" else CSV
    start = packed(start) if ending == ".csv.gz" else start

    @given(content=st.binary(min_size=1, max_size=80), place=st.integers(0, len(start)), end=st.integers(0, len(start)))
    def check(content: bytes, place: int, end: int) -> None:
        is_read_or_refused(folder, f"bytes{ending}", start[:place] + content + start[end:])

    check()


@given(rows=ROWS, delimiter=st.sampled_from(",,,;\t|"))
def test_any_csv_is_read_or_refused(rows: list[list[str]], delimiter: str, folder: Path) -> None:
    table = io.StringIO()
    csv.writer(table, delimiter=delimiter).writerows([["text", "label"], *rows])
    is_read_or_refused(folder, "any.csv", table.getvalue().encode("utf-8", "replace"))


@given(records=st.lists(st.dictionaries(st.sampled_from(["text", "label", "a"]), VALUES, max_size=3), max_size=4))
def test_any_json_is_read_or_refused(records: list[dict[str, Any]], folder: Path) -> None:
    lines = "\n".join(map(json.dumps, records)) or "{}"
    for name, content in {"any.jsonl": lines, "any.json": json.dumps(records)}.items():
        is_read_or_refused(folder, name, content.encode())


@given(rows=st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), min_size=1, max_size=6))
def test_a_csv_gives_back_what_was_written(rows: Texts, folder: Path) -> None:
    rows = [
        (first.replace("\r", ""), two.replace("\r", "")) for first, two in rows if first.isascii() and two.isascii()
    ]
    table = io.StringIO()
    csv.writer(table).writerows([("text", "label"), *rows])
    (folder / "back.csv").write_text(table.getvalue(), newline="")
    if rows:
        reviews = read(folder / "back.csv")
        assert [review.text for review in reviews] == [text for text, _ in rows]
