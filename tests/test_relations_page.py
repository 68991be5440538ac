"""Page Relations: what it says of heads, and the pairs that it shows."""

import io
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest
from flask.testing import FlaskClient

import store
from dashboard.app import create_app
from dashboard.relations.data import best_of, examples, links_of
from dashboard.web.library import Library
from store.kernels.relations import DIRECTIONS
from tests.accessibility import is_accessible
from tests.browser import Open, choose, serving

Page = Callable[..., str]


@pytest.fixture(scope="module")
def corpus(bank_store: str) -> Iterator[store.Corpus]:
    return store.open_corpus(bank_store)


@pytest.fixture(scope="module")
def client(bank_store: str) -> FlaskClient:
    return create_app(Library(bank_store)).server.test_client()


@pytest.fixture(scope="module")
def base(corpus: store.Corpus) -> str:
    from dashboard.web.http import data_link

    return data_link(corpus)


@pytest.fixture(scope="module")
def server(bank_store: str) -> Iterator[str]:
    with serving(bank_store) as address:
        yield address


def above(client: FlaskClient, search: str = "") -> str:
    answer = client.post("/data/page", data={"pathname": "/relations", "search": search, "snapshot": ""})
    return str(answer.json["above"])


def test_the_page_says_that_annotation_is_gold(client: FlaskClient) -> None:
    assert "Gold annotation of the data" in above(client)


def test_every_relation_has_a_row_with_its_best_head(client: FlaskClient, corpus: store.Corpus) -> None:
    page = above(client)
    for row in best_of(corpus):
        assert f"L{row.layer} H{row.head}" in page
        assert row.relation in page


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_attended_word_of_a_hit_is_the_other_of_the_pair(direction: str, corpus: store.Corpus) -> None:
    found = examples(corpus, "det", direction, 1, 1)
    ends = {"forward": "target", "backward": "source", "received": "target"}
    assert all(pair.attended == getattr(pair, ends[direction]) for pair in found.hits)
    assert not any(pair.attended == getattr(pair, ends[direction]) for pair in found.misses)


def test_hits_and_misses_are_all_reported_pairs(corpus: store.Corpus) -> None:
    found = examples(corpus, "det", "forward", 0, 1)
    cell = corpus.relations.sel(relation="det", direction="forward", layer=0, head=1).isel(half=1)
    assert (found.linked, found.pairs) == (int(cell.linked), int(cell.pairs))


def test_words_of_an_example_are_spelled_as_in_the_text(corpus: store.Corpus) -> None:
    pair = (examples(corpus, "det", "forward", 0, 0).hits + examples(corpus, "det", "forward", 0, 0).misses)[0]
    assert "".join(pair.words) == "".join(str(corpus.sentences.text.values[pair.sentence]).split())


def test_an_unknown_relation_is_named_and_left_out(client: FlaskClient) -> None:
    page = above(client, "?relation=nothing")
    assert "'nothing' is no relation of these words." in page
    assert "Showing all relations." in page
    assert "all: dependent attends most to governor" in page


def test_the_file_of_relations_has_every_cell(client: FlaskClient, base: str, corpus: store.Corpus) -> None:
    table = pd.read_csv(io.BytesIO(client.get(f"{base}/relations.csv").data), comment="#")
    cells = corpus.relations.reported_accuracy
    assert len(table) == cells.size
    row = table.iloc[7]
    expected = cells.sel(relation=row.relation, direction=row.direction, layer=row.layer, head=row["head"])
    assert row.accuracy == pytest.approx(float(expected), rel=1e-5)


def test_the_file_of_one_relation_is_its_part(client: FlaskClient, base: str, corpus: store.Corpus) -> None:
    answer = client.get(f"{base}/relation.csv?relation=det&direction=backward")
    table = pd.read_csv(io.BytesIO(answer.data), comment="#")
    np.testing.assert_allclose(
        table.accuracy, corpus.relations.reported_accuracy.sel(relation="det", direction="backward").values.ravel()
    )


def test_a_pattern_is_counted_as_a_relation_of_the_store_is(corpus: store.Corpus) -> None:
    stored, counted = (corpus.relations.sel(relation="det"), links_of(corpus, "DET -> NOUN"))
    for name in ("linked", "pairs", "reported_accuracy", "offset", "offset_accuracy"):
        np.testing.assert_array_equal(counted[name], stored[name], err_msg=name)
    np.testing.assert_allclose(counted.interval, stored.interval, atol=0.06)


def test_a_pattern_has_heads_and_pairs(client: FlaskClient) -> None:
    page = above(client, "?relation=ADJ+->+NOUN")
    assert "ADJ -> NOUN: dependent attends most to governor" in page
    assert "Showing all relations" not in page


@pytest.mark.parametrize("query", ["", "?relation=no&direction=forward", "?relation=det&direction=no"])
def test_a_file_of_an_unknown_relation_is_not_found(query: str, client: FlaskClient, base: str) -> None:
    assert client.get(f"{base}/relation.csv{query}").status_code == 404


def test_the_file_of_best_heads_has_every_relation(client: FlaskClient, base: str, corpus: store.Corpus) -> None:
    table = pd.read_csv(io.BytesIO(client.get(f"{base}/best-heads.csv").data), comment="#")
    assert table.relation.tolist() == [row.relation for row in best_of(corpus)]


def test_a_store_without_words_says_how_to_get_them(tiny_store: str) -> None:
    client = create_app(Library(tiny_store)).server.test_client()
    assert "Run `headscape ingest`" in above(client)


@pytest.mark.slow
def test_a_relation_is_chosen_and_a_pair_opens_its_sentence(server: str, corpus: store.Corpus, open_page: Open) -> None:
    pairs = int(corpus.relations.pairs.sel(relation="det")[1])
    page = open_page(f"{server}/relations")
    choose(page, "Relation", f"det ({pairs})")
    page.get_by_role("heading", name="det: dependent attends most to governor").wait_for()
    page.locator(".pair td a").first.click()
    page.wait_for_url("**/sentence?**")
    page.get_by_role("heading", name="Sentence").first.wait_for()


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["/relations?relation=det&example=0:0-1", "/sentence?sentence=1", "/heads?colour=relation"]
)
def test_axe_finds_nothing_serious_where_a_corpus_has_words(path: str, server: str, open_page: Open) -> None:
    is_accessible(open_page(f"{server}{path}"))
