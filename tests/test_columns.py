"""Categorical columns of the data, from a file to labelled arrays."""

import csv
import shutil
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import store
from ingest import pipeline
from ingest.run.progress import noting
from ingest.text import corpus as ingest_corpus
from ingest.text.columns import MOST, MOST_COLUMNS, ROWS_AT_ONCE, column_codes, find_columns
from ingest.text.table import Table
from store.repository.ingest_status import IngestProgress
from store.verify import verify
from tests.interruption import interrupted
from tests.stores import rewritten

Ingest = Callable[..., str]
REVIEWS = 80


def names_of(**columns: Sequence[Any]) -> dict[str, list[str]]:
    """Names of the columns of a table that are found categorical, by the column's title."""
    return {column.title: column.names for column in find_columns(Table.of(pa.table(columns)), besides=()).categorical}


def written(path: Path, columns: dict[str, Sequence[Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return path


# -- which columns --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["war", "art", None, "war"], ["art", "war"]),
        (["war", "art", "", "war"], ["art", "war"]),
        ([True, False, None, True], ["False", "True"]),
        ([10, 9, None, 10], ["9", "10"]),
        ([10.0, 9.0, None, float("nan")], ["9", "10"]),
        ([-1, 0, 1, 0], ["-1", "0", "1"]),
        (["10", "9", "NA", "", "10"], ["9", "10"]),
        (["NA", "DE", "10"], ["10", "DE", "NA"]),
        ([date(2020, 2, 1), date(2019, 3, 1), None], ["2019-03-01", "2020-02-01"]),
        ([datetime(2020, 2, 1), datetime(2019, 3, 1, 12), None], ["2019-03-01 12:00:00", "2020-02-01"]),
        ([Decimal("2.00"), Decimal("1.00")], ["1", "2"]),
        (["Fin", "Inf", "Part"], ["Fin", "Inf", "Part"]),
    ],
)
def test_a_column_of_few_values_is_categorical(values: list[Any], names: list[str]) -> None:
    assert names_of(column=values) == {"column": names}


@pytest.mark.parametrize(
    "values",
    [
        ["war"] * 4,
        [None] * 4,
        [1, 1, None, 1],
        [0.5, 1.5, 0.5, 1.5],
        ["0.5", "1", "NaN"],
        ["2", "NaN", "Infinity"],
        ["inf", "-inf", "nan"],
        [2.0, 1.0, float("nan"), float("inf")],
        [b"a", b"b"],
        [["a"], ["b"]] * 2,
    ],
)
def test_other_columns_are_left_out(values: list[Any]) -> None:
    assert names_of(column=values) == {}


@pytest.mark.parametrize(("count", "columns"), [(MOST, 1), (MOST + 1, 0)])
def test_too_many_values_are_no_categories(count: int, columns: int) -> None:
    assert len(names_of(column=[f"value {number}" for number in range(count)] * 2)) == columns


def test_a_value_far_down_still_counts() -> None:
    values = [0, 1] * ROWS_AT_ONCE
    assert names_of(few=[*values, 7], many=[*values, 0.5]) == {"few": ["0", "1", "7"]}


def test_at_most_sixteen_columns_are_found_the_first_of_the_file() -> None:
    columns = {f"c{number}": ["a", "b"] for number in range(MOST_COLUMNS + 3)}
    assert list(names_of(**columns)) == list(columns)[:MOST_COLUMNS]


def test_numbers_that_the_data_names_are_shown_by_name() -> None:
    table = Table.of(pa.table({"mood": [2, 0, -1, None, 3]}), {"mood": ["sad", "gay", "odd"]})
    (column,) = find_columns(table, besides=()).categorical
    assert column.names == ["sad", "odd"]
    assert column_codes(table, column, np.arange(5)).tolist() == [1, 0, -1, -1, -1]


@pytest.mark.parametrize("title", ["", "index", "Unnamed: 0", "__index_level_0__"])
@pytest.mark.parametrize("values", [["0", "1", "2"], [0, 1, 2]])
def test_an_index_of_rows_without_a_title_is_no_column(title: str, values: list[Any]) -> None:
    assert names_of(**{title: values}) == {}
    assert names_of(**{title: [*values, values[0]]}) == {title: ["0", "1", "2"]}


def test_text_and_label_are_no_further_columns() -> None:
    table = Table.of(pa.table({"text": ["a", "b"], "label": [0, 1], "genre": ["war", "art"]}))
    assert [column.title for column in find_columns(table, besides=("text", "label")).categorical] == ["genre"]


def test_odd_titles_become_names_that_differ() -> None:
    titles = ["Genre / Kind", "genre-kind", "sentence", "\u6620\u753b", "", "../..", "__init__", "2 stars", "x" * 99]
    table = Table.of(pa.table({title: ["a", "b"] for title in titles}))
    arrays = {column.title: column.array for column in find_columns(table, besides=()).categorical}
    assert list(arrays) == titles
    assert list(arrays.values()) == [
        "genre_kind", "genre_kind_2", "sentence_2", "column", "column_2", "column_3", "init", "2_stars", "x" * 60
    ]  # fmt: skip


# -- in a store -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def columns() -> dict[str, Sequence[Any]]:
    """Columns of a CSV file of reviews; "" is a missing value."""
    number = range(REVIEWS)
    return {
        "Body": [f"Film {at // 26} was {chr(97 + at % 26)}. It was {chr(97 + at % 26)} {at}." for at in number],
        "stars": [at % 5 for at in number],
        "id": [f"tt{at}" for at in number],
        "Genre (main)": [("war", "art", "")[at % 3] for at in number],
        "seen": [("True", "False", "")[at // 2 % 3] for at in number],
        "year": [("", 1999, 2010, 987)[at % 4] for at in number],
        "source": ["here"] * REVIEWS,
    }


@pytest.fixture(scope="module")
def data(columns: dict[str, Sequence[Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("data") / "reviews.csv", columns)


@pytest.fixture(scope="module")
def place(ingest: Ingest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return ingest(tmp_path_factory.mktemp("columns") / "store", data=data, text="Body", label="stars")


@pytest.fixture(scope="module")
def corpus(place: str) -> store.Corpus:
    return store.open_corpus(place)


def test_every_sentence_has_the_categories_of_its_review(
    corpus: store.Corpus, columns: dict[str, Sequence[Any]]
) -> None:
    for array in corpus.columns.data_vars.values():
        for document, code in zip(corpus.sentences.document.values, array.values, strict=True):
            expected = str(columns[array.attrs["title"]][document])
            assert (array.attrs["names"][code] if code >= 0 else "") == expected


def test_columns_come_in_the_order_of_the_file(corpus: store.Corpus) -> None:
    titles = {name: array.attrs["title"] for name, array in corpus.columns.data_vars.items()}
    assert titles == {"genre_main": "Genre (main)", "seen": "seen", "year": "year"}
    assert list(titles) == ["genre_main", "seen", "year"]


def test_codes_are_small_integers_by_sentence(corpus: store.Corpus) -> None:
    assert {array.dtype for array in corpus.columns.values()} == {np.dtype("int16")}
    assert dict(corpus.columns.sizes) == {"sentence": corpus.n_sentences}


def test_categories_do_not_depend_on_the_sample(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    few = store.open_corpus(ingest(tmp_path / "store", data=data, text="Body", label="stars", sentences=1))
    assert few.columns.genre_main.attrs["names"] == ["art", "war"]


def test_growing_appends_and_equals_ingesting_at_once(
    ingest: Ingest, data: Path, corpus: store.Corpus, tmp_path: Path
) -> None:
    for sentences in (10, 40):
        grown = store.open_corpus(
            ingest(tmp_path / "store", data=data, text="Body", label="stars", sentences=sentences)
        )
        assert grown.columns.identical(corpus.columns.isel(sentence=slice(sentences)))


def test_a_smaller_model_on_a_grown_corpus_reads_its_own_sentences(
    place: str, ingest: Ingest, data: Path, odd_model: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(place, tmp_path / "store")
    small = store.open_corpus(ingest(copy, data=data, text="Body", label="stars", model=odd_model, sentences=7))
    assert small.columns.sizes["sentence"] == small.n_sentences == 7


@pytest.mark.slow
def test_an_interrupted_ingest_writes_the_columns_with_the_sentences(
    ingest: Ingest, data: Path, corpus: store.Corpus, tmp_path: Path
) -> None:
    place, settings = tmp_path / "store", {"data": data, "text": "Body", "label": "stars"}
    for target in ((ingest_corpus, "_write_columns"), (pipeline, "encode_corpus")):
        interrupted(ingest, place, target, after=0, **settings)
    grown = store.open_corpus(ingest(place, **settings))
    assert grown.columns.identical(corpus.columns)


def test_data_without_categories_has_no_columns(tiny_corpus: store.Corpus) -> None:
    assert len(tiny_corpus.columns) == 0


@pytest.mark.slow
def test_sentences_older_than_the_columns_read_as_before_and_get_them_as_they_grow(
    ingest: Ingest, data: Path, corpus: store.Corpus, tmp_path: Path
) -> None:
    place, settings = tmp_path / "store", {"data": data, "text": "Body", "label": "stars"}
    new = store.open_corpus(ingest(place, **settings, sentences=10))
    with rewritten(place) as writer:
        writer.delete(f"corpus/{new.attributes['corpus']}/columns")
    old = store.open_corpus(str(place))
    assert (len(old.columns), old.sentences.sizes["sentence"]) == (0, 10)
    assert store.open_corpus(ingest(place, **settings)).columns.identical(corpus.columns)


def test_a_store_with_columns_is_sound(place: str) -> None:
    assert list(verify(store.open_snapshot(place))) == []


def test_a_search_among_many_columns_says_how_far_it_is(tmp_path: Path) -> None:
    noted: list[IngestProgress] = []
    with noting(str(tmp_path / "store"), "", pause=0, note=lambda _, progress: noted.append(progress)):
        names_of(**{f"c{number}": ["same", "same"] for number in range(600)})
    assert [(each.done, round(each.total)) for each in noted if each.stage == "columns"] == [
        (0, 600),
        (256, 600),
        (512, 600),
        (600, 600),
    ]
