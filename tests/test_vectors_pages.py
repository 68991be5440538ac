"""Pages, files and messages of a store that has vectors of the first sentences only."""

from collections.abc import Callable
from functools import cache, partial
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient
from pyarrow import parquet

import headscape
import store
from dashboard.app import create_app
from dashboard.features.figures import feature_charts
from dashboard.features.shown import FeatureView
from dashboard.statistics.parts import PartNumbers, count, part_of
from dashboard.statistics.sections import size_of_part
from dashboard.statistics.shown import LinkCounts, shown_grid
from dashboard.web.context import resolve
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from store.__main__ import main
from tests.client import content, csv_rows, shown
from tests.made_once import made_once
from tests.stores import FEATURES, Ingest
from tests.treebanks import write_treebank

#: Tokens with vectors, fewer than a block of the tests has.
VECTORS = "100"
#: Query that selects every token with vectors.
EVERY = "where=position%3A0.."


@pytest.fixture(scope="module")
def part_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    """A store of two models on one corpus, which can be compared; the second is the shown one."""

    def make(place: Path) -> None:
        ingest(place, vectors=VECTORS, dtype="bfloat16", **FEATURES)
        ingest(place, vectors=VECTORS, **FEATURES)

    return str(made_once(tmp_path_factory, "part-pages", make))


@pytest.fixture(scope="module")
def part(part_store: str) -> store.Corpus:
    return store.open_corpus(part_store)


@pytest.fixture(scope="module")
def part_client(part_store: str) -> FlaskClient:
    return create_app(ServedStore(part_store)).server.test_client()


def whole_page(client: FlaskClient, page: str, search: str = "") -> str:
    """All texts of a page, with its deferred parts."""
    return "".join(shown(client, place, f"/{page}", search) for place in ("above", "beside", "below", "message"))


@pytest.fixture(scope="module")
def texts(part_client: FlaskClient) -> Callable[[str, str], str]:
    """A function that gives the texts of a page, and asks for each page once."""
    return cache(partial(whole_page, part_client))


ALL, FIRST = "40 sentences", "the first 10 of 40 sentences"
TOKENS, FIRST_TOKENS = "452 tokens", "the first 121 of 452 tokens"


def test_the_sizes_that_these_tests_name(part: store.Corpus) -> None:
    assert (part.n_sentences, part.counted_sentences) == (10, 40)
    assert (part.n_tokens, part.counted_tokens) == (121, 452)


@pytest.mark.parametrize(
    ("page", "search", "named"),
    [
        (
            "",
            "",
            f"{ALL}, {TOKENS}. Statistics of heads are computed from them; pictures, examples",
        ),
        ("", "", f"relations from {FIRST}, which have vectors."),
        ("heads", "", f"{FIRST_TOKENS}."),
        ("heads", "", f"Vectors are stored of {FIRST}."),
        ("heads", "?q=the", f"of {FIRST}."),
        ("head", "", f"Means over {ALL}; every sentence has the same weight; 95% intervals from the variance between"),
        ("head", "", f"{FIRST_TOKENS}."),
        ("head", "", "The first 121 of 452 tokens; Spearman correlation of norm and frequency"),
        ("head", "?token=3&role=query&tab=point", f"over {FIRST_TOKENS}"),
        ("head", "?tab=pairs", f", over {FIRST}."),
        ("head", "?tab=positions", f"Mean weight over the first 10 of {ALL}"),
        ("statistics", "", f"Means over all {TOKENS} in {ALL}; every sentence has the same weight."),
        ("statistics", "", f"over all queries of {ALL}"),
        ("statistics", f"?{EVERY}", f"Means over 121 of {FIRST_TOKENS} (100.0%) in 10 of {FIRST}"),
        ("statistics", f"?{EVERY}", f"these figures are of the whole corpus, {ALL}."),
        ("map", "", "Mean over the first 121 of 452 tokens (10 sentences)."),
        ("features", "", "the first 10 sentences of the corpus"),
        ("sentence", "?sentence=3", f"Sentence 3 of {FIRST} (counted from 0)"),
        ("compare", "?sentence=3", "Sentence 3 of 10 (counted from 0)"),
        ("sentence", "?sentence=3&find=the", f" of {ALL}"),
        ("sentence", "?sentence=3&by=entropy", f"10 of {FIRST}"),
        ("compare", "", f"the first 10 of {ALL} (121 of {TOKENS}) of both models"),
        ("compare", "", f"Means over {ALL} ({TOKENS}) of both models."),
        ("store", "", f"of all {ALL} ({TOKENS})"),
        ("store", "", "of the first 10 sentences (121 tokens)"),
        ("store", "", "--vectors=all"),
    ],
)
def test_a_page_says_which_sentences_a_number_is_of(
    page: str, search: str, named: str, texts: Callable[[str, str], str]
) -> None:
    assert named in texts(page, search)


def test_page_relations_says_in_which_sentences_it_counts(
    ingest: Ingest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bank = made_once(tmp_path_factory, "bank.conllu", write_treebank)
    place = ingest(tmp_path_factory.mktemp("bank") / "store", data=bank, annotate="auto", vectors="1", sentences=200)
    corpus = store.open_corpus(place)
    first = f"the first {corpus.n_sentences} of {corpus.counted_sentences} sentences"
    shown_page = whole_page(create_app(ServedStore(place)).server.test_client(), "relations")
    assert f"Counted in {first}." in shown_page
    assert f"in {first}; numbers are of the" in shown_page


def test_a_page_of_stored_sentences_names_one_without_vectors_with_what_to_do(part_client: FlaskClient) -> None:
    page = whole_page(part_client, "compare", "?sentence=30")
    assert "sentence=30 has no stored vectors (0-9 have): run " in page
    assert "headscape ingest --vectors=all" in page


def test_a_sentence_that_the_corpus_lacks_is_out_of_range(part_client: FlaskClient) -> None:
    assert "sentence=40 is out of range (0-39); showing 39" in whole_page(part_client, "sentence", "?sentence=40")


def test_a_filter_of_every_stored_token_is_a_part(part: store.Corpus) -> None:
    """Sentences without vectors, whose tokens no filter sees, would change the numbers."""
    every, filtered = part_of(part, None), part_of(part, "position:0..")
    assert (every.whole, filtered.whole) == (True, False)
    assert every.digest != filtered.digest
    assert every.tokens == filtered.tokens == part.n_tokens


def test_a_difference_from_the_corpus_says_what_is_subtracted(part: store.Corpus, part_store: str) -> None:
    context = resolve(ServedStore(part_store), "statistics", f"?{EVERY}&values=part&model={part.name}")
    assert shown_grid(LinkCounts.of(context), count_now(part)).note == f"Subtracted: means over all {ALL}."


def count_now(part: store.Corpus) -> PartNumbers:
    """The numbers of every stored token."""
    return count(part, part_of(part, "position:0.."), lambda _share: None)


@pytest.mark.parametrize(
    ("page", "search", "of"),
    [
        ("statistics", "", f"Means over all {TOKENS} in {ALL}; every sentence has the same weight."),
        ("statistics", "", f"Means over {ALL}; every sentence has the same weight."),
        ("head", "", f"Means over {ALL}, those that have the position"),
        ("head", "", "The first 121 of 452 tokens"),
        ("head", "?tab=positions", f"Mean weight over the first 10 of {ALL}"),
        ("map", "", "Mean over the first 121 of 452 tokens (10 sentences)."),
        ("compare", "", f"Means over {ALL} ({TOKENS}) of both models."),
    ],
)
def test_a_saved_chart_says_which_sentences_its_numbers_are_of(
    page: str, search: str, of: str, part_client: FlaskClient
) -> None:
    every = "".join(shown(part_client, place, f"/{page}", search) for place in ("above", "beside", "below"))
    assert f"'data-of': {of!r}"[:-1] in every


def test_a_saved_chart_of_a_part_says_of_how_many_tokens_it_is(part: store.Corpus) -> None:
    named = size_of_part(part, part_of(part, "position:0.."))
    assert named.startswith(f"Means over 121 of {FIRST_TOKENS} (100.0%) in 10 of {FIRST}")


def test_token_mixing_beside_feature_points_is_that_of_all_tokens(part_store: str) -> None:
    charts = feature_charts(FeatureView.of(resolve(ServedStore(part_store), "features", "")))
    assert f"data-of='Mean over {TOKENS} of the corpus'" in str(charts)


def test_a_file_of_all_heads_has_the_numbers_of_all_sentences(part: store.Corpus, part_client: FlaskClient) -> None:
    rows = csv_rows(content(part_client, f"{data_link(part)}/statistics.csv"))
    stored = part.head_statistic.sel(source="all", statistic="entropy").values.ravel()
    np.testing.assert_allclose([float(row["entropy"]) for row in rows], stored)


def test_a_file_of_a_part_has_the_numbers_of_its_tokens(part: store.Corpus, part_client: FlaskClient) -> None:
    address = f"{data_link(part)}/statistics.csv?{EVERY}"
    rows = csv_rows(content(part_client, address))
    means = part.head_means(np.ones(part.n_tokens, bool)).sel(source="all", statistic="entropy").values.ravel()
    np.testing.assert_allclose([float(row["entropy"]) for row in rows], means, rtol=1e-5)
    assert not np.allclose(means, part.head_statistic.sel(source="all", statistic="entropy").values.ravel(), rtol=1e-5)


def test_a_file_says_which_sentences_its_numbers_are_of(part: store.Corpus, part_client: FlaskClient) -> None:
    named = f"unfiltered statistics of heads and layers of {ALL}, all other numbers of {FIRST}"
    row = csv_rows(content(part_client, f"{data_link(part)}/statistics.csv"))[0]
    assert row["provenance"].endswith(f"; {named}")
    table = parquet.read_table(BytesIO(content(part_client, f"{data_link(part)}/statistics.parquet")))
    assert table.schema.metadata[b"sentences"].decode() == named


def test_describe_says_what_has_vectors(part_store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", part_store]) == 0
    lines = capsys.readouterr().out
    assert f"{ALL}, {TOKENS} of " in lines
    assert "vectors, pictures and relations of the first 10 sentences, 121 tokens" in lines


def test_a_figure_of_a_notebook_says_how_many_of_all_tokens_it_shows(part: store.Corpus) -> None:
    assert "121 of 452 tokens" in str(headscape.show(part, layer=0, head=0).layout.title.text)
