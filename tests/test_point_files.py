"""Points in files, read back by the readers of other programs."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from dashboard.points.head_tokens import HeadTokens
from dashboard.points.routes import ROWS, tables_of_head
from dashboard.ui.files import Table, as_csv, write_parquet
from store import Corpus
from store.phrases import guarded, unguarded
from tests.client import typed_like, without_nan

TOKENS = 60


@pytest.fixture(params=[0, 1])
def view(two_views: Corpus, request: pytest.FixtureRequest) -> str:
    return two_views.views[request.param]


def rows_of(reader: Callable[..., Iterable[Any]], parts: Iterator[Table]) -> list[Any]:
    return list(reader(io.StringIO(b"".join(as_csv(parts)).decode(), newline="")))


def written(drawn: HeadTokens, view: str, selected: np.ndarray, rows: int = ROWS) -> list[dict[str, str]]:
    return rows_of(csv.DictReader, tables_of_head(drawn, view, selected, rows))


def parquet_of(drawn: HeadTokens, view: str, selected: np.ndarray, rows: int = ROWS) -> pyarrow.Table:
    file = io.BytesIO()
    write_parquet(tables_of_head(drawn, view, selected, rows), file)
    return parquet.read_table(file)


def test_a_file_has_every_point_with_its_place(two_views: Corpus, view: str) -> None:
    drawn = HeadTokens(two_views, TOKENS, 1, 0)
    rows = written(drawn, view, np.ones((TOKENS, 2), bool))
    places = drawn.places(view)[0]
    axes = "xyz"[: places.shape[-1]]
    assert [(int(row["token"]), row["role"]) for row in rows[:3]] == [(0, "query"), (0, "key"), (1, "query")]
    written_places = np.array([[float(row[axis]) for axis in axes] for row in rows]).reshape(TOKENS, 2, -1)
    np.testing.assert_allclose(written_places, places, atol=1e-6)
    assert ("z" in rows[0]) == (len(axes) == 3)
    assert [row["wordpiece"] for row in rows[::2]] == two_views.wordpieces(drawn.rows)


def test_a_norm_is_that_of_the_role(two_views: Corpus, view: str) -> None:
    drawn = HeadTokens(two_views, TOKENS, 1, 0)
    selected = np.zeros((TOKENS, 2), bool)
    selected[7, 1] = True
    (row,) = written(drawn, view, selected)
    key = two_views.key[1, 0, int(drawn.rows[7])].values.astype(float)
    assert float(row["norm"]) == pytest.approx(np.sqrt(key @ key), abs=1e-4)


def test_both_forms_hold_the_same_however_it_is_cut(two_views: Corpus, view: str) -> None:
    drawn, selected = HeadTokens(two_views, TOKENS, 1, 0), np.arange(2 * TOKENS).reshape(TOKENS, 2) % 3 == 0
    whole = written(drawn, view, selected)
    assert written(drawn, view, selected, 7) == whole
    table = parquet_of(drawn, view, selected, 7)
    assert table.column_names == list(whole[0])
    assert typed_like(whole, table.to_pylist()) == without_nan(table.to_pylist())


def test_a_file_without_points_has_its_columns(two_views: Corpus, view: str) -> None:
    drawn, nothing = HeadTokens(two_views, TOKENS, 0, 0), np.zeros((TOKENS, 2), bool)
    assert b"".join(as_csv(tables_of_head(drawn, view, nothing))).startswith(
        b'"token","wordpiece","position","sentence","label","kind","role","x","y"'
    )
    empty = parquet_of(drawn, view, nothing)
    assert empty.num_rows == 0
    assert empty.schema == parquet_of(drawn, view, ~nothing).schema


@pytest.mark.parametrize("text", ["=", "+", "-", "@", "=1+1", "\tx", "\rx", "\nx"])
def test_a_spreadsheet_takes_no_wordpiece_for_a_formula(text: str) -> None:
    assert rows_of(csv.reader, iter([{"wordpiece": np.array([text], object)}]))[1] == [f"'{text}"]


def test_titles_are_quoted_and_no_formulas() -> None:
    titles = ["a, b", 'the "best"', "=1+1"]
    written = rows_of(csv.reader, iter([{title: np.array([1]) for title in titles}]))
    assert written[0] == ["a, b", 'the "best"', "'=1+1"]


@pytest.mark.parametrize("kind", [object, str, np.dtypes.StringDType()], ids=["object", "str", "StringDType"])
def test_text_is_known_by_its_type_whatever_its_column_is_called(kind: Any) -> None:
    table = {"change": np.array(["=1+1", "-1"], kind), "label": np.array([-1.5, 2.0])}
    assert rows_of(csv.reader, iter([table])) == [
        ["change", "label"],
        ["'=1+1", "-1.5"],
        ["'-1", "2"],
    ]
    file = io.BytesIO()
    write_parquet(iter([table]), file)
    assert parquet.read_table(file).to_pylist() == [{"change": "=1+1", "label": -1.5}, {"change": "-1", "label": 2.0}]


@given(texts=st.lists(st.text("'=+-@\t\r\na\u00e9"), min_size=1))
def test_every_text_is_read_back_from_a_file_without_its_guard(texts: list[str]) -> None:
    written = rows_of(csv.reader, iter([{"text": np.array(texts, object), "number": np.arange(len(texts))}]))[1:]
    assert [unguarded(text) for text, _ in written] == [unguarded(guarded(text)) for text in texts] == texts
    assert not any(text.startswith(tuple("=+-@\t\r\n")) for text, _ in written)


@pytest.mark.parametrize("text", ["film", "##ing", "'", "a=b", '"', ","])
def test_other_wordpieces_are_written_as_they_are(text: str) -> None:
    assert rows_of(csv.reader, iter([{"wordpiece": np.array([text], object)}]))[1] == [text]
