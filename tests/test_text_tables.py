"""Text tables as programs save them: delimiters, quotes, line breaks and encodings; and endings of names."""

import gzip
import io
from codecs import BOM_UTF8
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dashboard.ui.files import Provenance, as_csv, named
from ingest.run.errors import IngestError
from ingest.text.coreference import GAP_COLUMNS
from ingest.text.reviews import Reviews, find_data, read_reviews
from ingest.text.table import Dialect, dialect_of

REVIEWS = [("Sch\u00f6n, aber teuer", "pos"), ("Gut", "neg")]
CSV = 'text,label\n"Sch\u00f6n, aber teuer",pos\n"Gut",neg\n'


def read(path: Path) -> Reviews:
    return read_reviews(find_data(str(path)), text="text", label="label")


def texts(path: Path) -> list[tuple[str, str]]:
    reviews = read(path)
    return [(review.text, reviews.label_names[review.label]) for review in reviews]


def written(path: Path, content: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(content.encode(encoding))
    return path


# -- csv ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        CSV,
        CSV.replace("\n", "\r"),
        CSV.replace("\n", "\r\n"),
        f"\n\n{CSV}",
        f"sep=,\r\n{CSV}",
        'text;label\n"Sch\u00f6n, aber teuer";pos\nGut;neg\n',
        "text;label\r\nSch\u00f6n, aber teuer;pos\r\nGut;neg\r\n",
        'sep=;\r\ntext;label\r\n"Sch\u00f6n, aber teuer";pos\r\n"Gut";neg\r\n',
        "sep=^\ntext^label\nSch\u00f6n, aber teuer^pos\nGut^neg\n",
        "text\tlabel\nSch\u00f6n, aber teuer\tpos\nGut\tneg\n",
        "text|label\nSch\u00f6n, aber teuer|pos\nGut|neg\n",
        'text, label\n"Sch\u00f6n, aber teuer", "pos"\n"Gut", "neg"\n',
        'text, label\n"Sch\u00f6n, aber teuer", pos\nGut, neg\n',
    ],
)
def test_a_csv_is_read_as_programs_save_it(content: str, tmp_path: Path) -> None:
    assert texts(written(tmp_path / "a.csv", content)) == REVIEWS


@pytest.mark.parametrize(
    ("lines", "delimiter"),
    [
        (["text\n", "a; b, c\n"], ","),
        (["text,note\n", "a,b; c\n"], ","),
        (['text,"a;b;c"\n', 'x,"1;2;3"\n'], ","),
        (["text;score, mean;label\n", "a, b;1,5;0\n"], ";"),
        (["text;score, mean;label\n", '"a\n', 'b";1,5;0\n'], ";"),
        ([], ","),
    ],
)
def test_the_delimiter_is_what_divides_header_and_first_row_alike(lines: list[str], delimiter: str) -> None:
    assert dialect_of(lines) == Dialect(delimiter, quoted=True)


def test_an_index_that_pandas_saved_is_no_column_of_categories(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": ["a", "b", "c"], "label": ["x", "y", "x"], "genre": ["war", "art", "art"]})
    frame.to_csv(tmp_path / "index.csv")
    reviews = read(tmp_path / "index.csv")
    assert [column.title for column in reviews.columns.categorical] == ["genre"]


# -- tsv ------------------------------------------------------------------------------------------------


def test_a_quote_in_a_tsv_is_a_letter(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tsv", 'text\tlabel\n"smart and fun\t1\nmore "fun", too\t0\n')
    assert texts(path) == [('"smart and fun', "1"), ('more "fun", too', "0")]


@pytest.mark.parametrize("name", ["a.tsv", "a.TSV", "a.tab", "a.tsv.gz"])
def test_a_tsv_with_the_columns_of_gap_is_gap(name: str, tmp_path: Path) -> None:
    row = ("x-1", "Ann saw Eva when she left.", "she", "17", "Ann", "0", "TRUE", "Eva", "8", "FALSE")
    content = "\n".join("\t".join(fields) for fields in (GAP_COLUMNS, row)).encode()
    (tmp_path / name).write_bytes(gzip.compress(content, mtime=0) if name.endswith("gz") else content)
    data = find_data(str(tmp_path / name))
    assert (data.is_gap, data.has_mentions) == (True, True)
    assert read(tmp_path / name).mentions(0).entity == [0, 0, 2]


def test_another_tsv_is_a_table(tmp_path: Path) -> None:
    assert not find_data(str(written(tmp_path / "a.tsv", "text\tlabel\na\t1\n"))).has_mentions


# -- encodings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])  # fmt: skip
def test_a_unicode_encoding_is_recognised(encoding: str, tmp_path: Path) -> None:
    assert texts(written(tmp_path / "a.csv", CSV, encoding)) == REVIEWS


@pytest.mark.parametrize(
    ("content", "encoding", "name"),
    [
        (CSV, "cp1252", "WINDOWS-1252"),
        ("text\n" + "\u0424\u0438\u043b\u044c\u043c \u0431\u044b\u043b \u043e\u0447\u0435\u043d\u044c \u0445\u043e\u0440\u043e\u0448\u0438\u0439.\n" * 3, "cp1251", "WINDOWS-1251"),
        ("text\n" + "\u6620\u753b\u306f\u9762\u767d\u304b\u3063\u305f\u304c\u3001\u3068\u3066\u3082\u9577\u304b\u3063\u305f\u3002\n" * 3, "cp932", "CP932"),
    ],
)  # fmt: skip
def test_an_older_encoding_is_named_with_what_it_reads(content: str, encoding: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(IngestError) as refused:
        read(written(tmp_path / "a.csv", content, encoding))
    assert f"; in {name} it reads {content.splitlines()[1][:40]!r})" in str(refused.value)
    assert str(refused.value).endswith(f"Save it as UTF-8 text, such as with `iconv -f {name} -t UTF-8`.")


def test_the_line_that_is_not_utf8_is_named_however_lines_end(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=r"^Line 3 of .* is not UTF-8 \(byte 4 of the line"):
        read(written(tmp_path / "a.csv", "text\ra\rcaf\u00e9\rb\r", "cp1252"))


# -- endings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.CSV", "a.Csv.GZ", "a.csv.Gz"])
def test_an_ending_may_have_capitals(name: str, tmp_path: Path) -> None:
    content = CSV.encode()
    (tmp_path / name).write_bytes(gzip.compress(content, mtime=0) if name.lower().endswith("gz") else content)
    assert texts(tmp_path / name) == REVIEWS


@pytest.mark.parametrize("name", ["a.pq", "a.Parquet"])
def test_a_parquet_file_may_be_named_short_or_with_capitals(name: str, tmp_path: Path) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": ["A film."], "label": ["x"]}), sink)
    (tmp_path / name).write_bytes(sink.getvalue())
    assert texts(tmp_path / name) == [("A film.", "x")]


@pytest.mark.parametrize("name", ["dev.english.v4_gold_conll", "dev.v9_auto_conll", "dev.CONLL"])
def test_the_files_of_conll_2012_are_known_by_their_ending(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / name, "#begin document (x); part 000\n0\tAnn\t(1)\n1\tshe\t(1)\n#end document\n")
    assert find_data(str(path)).has_mentions
    assert read_reviews(find_data(str(path)), text="text", label="label")[0].text == "Ann she"


def test_a_file_that_headscape_saved_is_read_back(tmp_path: Path) -> None:
    columns = {"text": ["=1+1", "A, b.", '"film"', "'-ing", "''@"], "=kind": ["a", "b", "a", "a", "b"]}
    table = {title: np.array(values, object) for title, values in columns.items()}
    source = Provenance(("bert",), "films", "0")
    (tmp_path / "saved.csv").write_bytes(b"".join([BOM_UTF8, *as_csv(named(iter([table]), source))]))
    reviews = read(tmp_path / "saved.csv")
    assert [review.text for review in reviews] == columns["text"]
    assert "=kind" in [column.title for column in reviews.columns.categorical]


def test_a_missing_file_is_one_whatever_the_capitals_of_its_ending() -> None:
    with pytest.raises(IngestError, match=r"There is no data file missing\.CSV"):
        find_data("missing.CSV")
