"""A sentence whose vectors are not stored is encoded when a reader opens it; searches find it like any other."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

import store
from dashboard.app import create_app
from dashboard.sentence.encoder import TypedSentences, corpus_sentence
from dashboard.sentence.finder import SentenceFilter, find_sentences
from dashboard.sentence.sentence import stored_sentence
from dashboard.web import corpus_model
from dashboard.web.errors import Refusal
from dashboard.web.http import data_link
from dashboard.web.served_store import ServedStore
from tests.client import content, shown
from tests.made_once import made_once
from tests.stores import Ingest

#: Tokens with vectors, fewer than a block of the tests has: 10 of 40 sentences have vectors.
VECTORS = "100"
#: Sentences without vectors, the first and the last among them.
WITHOUT = (10, 25, 39)
#: Tolerance: half of the last place of a float16, to which stored numbers are rounded, and the error of float32.
ROUNDED = {"rtol": 2**-11 + 1e-5, "atol": 2e-6}


@pytest.fixture(scope="module")
def part_store(tmp_path_factory: pytest.TempPathFactory, ingest: Ingest) -> str:
    return str(made_once(tmp_path_factory, "part", partial(ingest, vectors=VECTORS)))


@pytest.fixture
def part(part_store: str) -> store.Corpus:
    return store.open_corpus(part_store)


@pytest.fixture
def lost(part: store.Corpus) -> store.Corpus:
    """The corpus `part`, whose model cannot be found."""
    provenance = {**part.attributes["provenance"], "settings": {"model": "nobody/nothing"}}
    part.attributes = {**part.attributes, "provenance": provenance}
    return part


@pytest.fixture(scope="module")
def part_client(part_store: str) -> FlaskClient:
    return create_app(ServedStore(part_store)).server.test_client()


def page_of(client: FlaskClient, search: str) -> str:
    """The page once its model is loaded, with all that it waits for."""
    places = ("above", "beside", "below", "message")
    return [
        shown(client, "message", "/sentence", search),
        "".join(shown(client, place, "/sentence", search) for place in places),
    ][1]


@pytest.mark.parametrize("sentence", WITHOUT)
@pytest.mark.parametrize("name", ["query", "key", "value_norm", "mixing"])
def test_it_has_the_numbers_that_an_ingest_with_all_vectors_stores(
    sentence: int, name: str, part: store.Corpus, tiny_corpus: store.Corpus
) -> None:
    encoded = getattr(TypedSentences().encode_counted(part, sentence), name)
    stored = np.asarray(getattr(stored_sentence(tiny_corpus, sentence), name))
    assert encoded.shape == stored.shape
    if name == "key":  # keys are stored without the part that the keys of a head have in common
        constant = np.abs(tiny_corpus.stored_vectors("key", layer=0, head=0)[1]).max()
        np.testing.assert_allclose(encoded, stored, rtol=ROUNDED["rtol"], atol=2**-11 * float(constant) + 2e-6)
    else:
        np.testing.assert_allclose(encoded, stored, **ROUNDED)


@pytest.mark.parametrize("sentence", WITHOUT)
def test_its_pattern_is_that_of_stored_vectors(sentence: int, part: store.Corpus, tiny_corpus: store.Corpus) -> None:
    encoded = TypedSentences().encode_counted(part, sentence)
    np.testing.assert_allclose(encoded.pattern, tiny_corpus.weights(sentence), atol=1e-3)


@pytest.mark.parametrize("sentence", WITHOUT)
def test_it_has_the_text_label_and_tokens_of_the_corpus(
    sentence: int, part: store.Corpus, tiny_corpus: store.Corpus
) -> None:
    encoded, stored = TypedSentences().encode_counted(part, sentence), stored_sentence(tiny_corpus, sentence)
    for name in ("text", "label", "wordpieces", "cut"):
        assert getattr(encoded, name) == getattr(stored, name)
    for name in ("flags", "word_index", "segment"):
        np.testing.assert_array_equal(getattr(encoded, name), getattr(stored, name))


def test_a_sentence_with_vectors_is_not_encoded(lost: store.Corpus, part_store: str) -> None:
    assert corpus_sentence(ServedStore(part_store), lost, 9).text == lost.counted_text(9)


def test_it_is_encoded_once(part: store.Corpus) -> None:
    typed = TypedSentences()
    assert typed.encode_counted(part, 20) is typed.encode_counted(part, 20)


@pytest.mark.slow
def test_it_is_encoded_in_the_dtype_of_the_store(part: store.Corpus, tmp_path: Path, ingest: Ingest) -> None:
    half = store.open_corpus(ingest(tmp_path / "half", vectors="all", dtype="bfloat16"))
    counted = store.open_corpus(ingest(tmp_path / "part", vectors=VECTORS, dtype="bfloat16"))
    encoded, stored = TypedSentences().encode_counted(counted, 20), stored_sentence(half, 20)
    off = np.abs(np.asarray(encoded.query) - np.asarray(stored.query)).mean()
    in_float32 = np.abs(np.asarray(TypedSentences().encode_counted(part, 20).query) - np.asarray(stored.query)).mean()
    assert off < 0.2 * in_float32


def test_other_wordpieces_than_those_of_the_store_are_refused(part: store.Corpus) -> None:
    part.vocab[:] = "other"
    with pytest.raises(Refusal, match="other wordpieces than the store has"):
        TypedSentences().encode_counted(part, 20)


@pytest.mark.parametrize("view", ["head", "model", "matrix", "neuron", "positions", "mixing"])
def test_every_view_of_the_page_shows_it(view: str, part_client: FlaskClient) -> None:
    page = page_of(part_client, f"?sentence=30&show={view}&queries=2")
    assert "Sentence 30 of 40 sentences" in page
    assert "Encoded now by the store's model in float32, as the store is" in page
    assert "This cannot be shown" not in page


def test_the_page_names_what_needs_stored_vectors(part_client: FlaskClient) -> None:
    page = page_of(part_client, "?sentence=30")
    assert (
        "vectors are stored of the first 10 of 40 sentences. Notes and the dependency tree are of sentences with"
        in page
    )


def test_the_page_of_a_stored_sentence_has_no_such_remark(part_client: FlaskClient) -> None:
    assert "Encoded now" not in page_of(part_client, "?sentence=3")


@pytest.mark.parametrize("path", ["layer/1.bin", "model.bin", "neuron/1/0/2.json", "mixing.csv", "weights/0/1.csv"])
def test_its_data_are_served(path: str, part: store.Corpus, part_client: FlaskClient) -> None:
    assert content(part_client, f"{data_link(part)}/sentence/30/{path}")


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_model, "missing_packages", lambda _extra: ["torch"])


@pytest.mark.usefixtures("without_torch")
def test_without_the_model_the_page_says_what_to_run(part_store: str, part: store.Corpus) -> None:
    client = create_app(ServedStore(part_store)).server.test_client()
    page = page_of(client, "?sentence=30")
    assert "sentence=30 has no stored vectors (0-9 have): run " in page
    assert "headscape ingest --vectors=all" in page
    assert part.counted_text(30) in page
    assert "this server needs PyTorch" in page


@pytest.mark.usefixtures("without_torch")
def test_without_a_model_to_run_the_neighbours_have_vectors(part_store: str) -> None:
    client = create_app(ServedStore(part_store)).server.test_client()
    page = shown(client, "above", "/sentence", "?sentence=0")
    assert "sentence=9" in page
    assert "sentence=39" not in page


def test_the_finder_finds_it(part: store.Corpus, tiny_corpus: store.Corpus) -> None:
    wanted = SentenceFilter(words="film", fewest=5)
    found, every = (find_sentences(corpus, wanted, among=40, limit=40).lines for corpus in (part, tiny_corpus))
    assert [(line.sentence, line.tokens, line.text) for line in found] == [
        (line.sentence, line.tokens, line.text) for line in every
    ]
    assert found[-1].sentence >= part.n_sentences


def test_the_finder_links_to_it(part_client: FlaskClient, part: store.Corpus) -> None:
    (line,) = find_sentences(part, SentenceFilter(words=f'"{part.counted_text(39)}"'), among=40).lines
    page = page_of(part_client, f'?sentence=3&find="{part.counted_text(39)}"')
    assert line.sentence == 39
    assert "sentence=39" in page
    assert "1 of 40 sentences match" in page


def test_sentences_are_ranked_among_those_with_vectors(part_client: FlaskClient) -> None:
    assert "10 of the first 10 of 40 sentences" in page_of(part_client, "?sentence=3&by=entropy")


@pytest.mark.parametrize("page", ["heads", "statistics", "store"])
def test_other_pages_keep_its_number_without_a_notice(page: str, part_client: FlaskClient) -> None:
    assert "no stored vectors" not in shown(part_client, "above", f"/{page}", "?sentence=30")
