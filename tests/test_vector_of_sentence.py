"""Words that make up the vector of a sentence, and likeness of two sentences, against transformers and loops in float64."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from flask.testing import FlaskClient

from dashboard.sentence.likeness import (
    Likeness,
    draw_likeness,
    likeness_figure,
    likeness_height,
    nearest_sentences,
    sample_vectors,
)
from dashboard.sentence.methods import Decomposed
from dashboard.sentence.sentence import Sentence, Unit
from dashboard.sentence.vector import VectorShares, chosen_answer, draw_vector, vector_shares, words_of
from dashboard.ui.files import Provenance
from dashboard.web.state import LinkState
from store import Corpus, open_corpus, open_snapshot
from store.phrases import PROVENANCE
from tests.client import csv_rows, shown
from tests.components import components
from tests.plain_decomposition import plain_decompx
from tests.sentences import a_pair

FIRST, SECOND = "the film was good", "a bad movie"


@pytest.fixture(scope="module")
def plain(tiny_model: Path) -> Any:
    """The tiny model, loaded by transformers in float64."""
    return transformers.BertModel.from_pretrained(tiny_model, attn_implementation="eager", dtype=torch.float64).eval()


def parts_of(plain: Any, text: str) -> np.ndarray:
    """Parts of the tokens in the mean of the last vectors: (token, feature)."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(plain.config.name_or_path)
    *_, last = plain_decompx(plain, torch.tensor(tokenizer(text).input_ids))
    parts: np.ndarray = last.mean(axis=0)
    return parts


def pooled_of(plain: Any, text: str) -> np.ndarray:
    tokenizer = transformers.AutoTokenizer.from_pretrained(plain.config.name_or_path)
    with torch.no_grad():
        pooled: np.ndarray = plain(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0).numpy()
    return pooled


def texts(part: object) -> str:
    return "".join(str(each) for each in components(part) if isinstance(each, str))


# -- the vector -----------------------------------------------------------------------------------------


def test_shares_of_words_are_their_parts_along_the_vector(client: FlaskClient, base: str, plain: Any) -> None:
    rows = csv_rows(client.get(f"{base}/typed/vector.csv?text={FIRST.replace(' ', '+')}").data)
    pooled = pooled_of(plain, FIRST)
    expected = parts_of(plain, FIRST) @ pooled / np.linalg.norm(pooled)
    assert [row["word"] for row in rows] == ["[CLS]", *FIRST.split(), "[SEP]"]
    np.testing.assert_allclose([float(row["share"]) for row in rows], expected, atol=1e-5)


def test_shares_of_words_sum_to_the_length_of_the_vector_of_the_model(
    client: FlaskClient, base: str, plain: Any
) -> None:
    rows = csv_rows(client.get(f"{base}/typed/vector.csv?text={FIRST.replace(' ', '+')}").data)
    assert sum(float(row["share"]) for row in rows) == pytest.approx(np.linalg.norm(pooled_of(plain, FIRST)), abs=1e-4)
    assert sum(float(row["share_of_length"]) for row in rows) == pytest.approx(1, abs=1e-4)


def decomposed_pair() -> Sentence:
    """A pair of sentences with chosen numbers, whose parts sum to its vector."""
    draw = np.random.default_rng(1)
    parts = draw.normal(size=(9, 5)).astype(np.float32)
    own = a_pair()
    answers = draw.normal(size=(9, 2)).astype(np.float32)
    found = Decomposed("decompx", np.zeros((2, 9, 9), np.float32), parts, answers)
    last = np.repeat(parts.sum(axis=0)[None], 9, axis=0)
    labels = ("negative", "positive")
    return replace(own, last=last, decomposed=found, answer=answers.sum(axis=0), answers=labels)


def test_wordpieces_of_a_word_are_added() -> None:
    sentence = decomposed_pair()
    found = vector_shares(sentence)
    assert sentence.decomposed is not None
    assert sentence.decomposed.parts is not None
    along = sentence.decomposed.parts @ sentence.last[0] / np.linalg.norm(sentence.last[0])  # type: ignore[index]
    assert [word.name for word in found.words][2] == "zany"
    assert found.shares[2] == pytest.approx(along[2] + along[3], abs=1e-5)


def test_the_shares_of_a_logit_sum_to_it_in_words_and_in_the_table() -> None:
    found = vector_shares(decomposed_pair())
    assert found.of_answers is not None
    assert found.logits is not None
    np.testing.assert_allclose(found.of_answers.sum(axis=0), found.logits, atol=1e-5)
    answer = int(found.logits.argmax())
    assert chosen_answer(found, LinkState()) == answer
    assert chosen_answer(found, LinkState(answer=1 - answer)) == 1 - answer
    assert f"Of the classifier's output for {found.answers[answer]}" in texts(draw_vector(found, LinkState(), "file"))


def test_the_words_are_in_the_order_that_a_reader_chose() -> None:
    words = words_of(a_pair())
    found = VectorShares(words, np.arange(8.0), 28.0, 0.0)
    rows = [texts(draw_vector(found, LinkState(pooled=order), "file")).rindex("was") for order in ("text", "share")]
    assert rows[0] != rows[1]
    assert "“[SEP]” adds most: 25%" in texts(draw_vector(found, LinkState(pooled="share"), "file"))


# -- likeness -------------------------------------------------------------------------------------------


def test_pairs_of_words_are_the_products_of_their_parts(client: FlaskClient, base: str, plain: Any) -> None:
    url = f"{base}/typed/alike.csv?text={FIRST.replace(' ', '+')}&alike={SECOND.replace(' ', '+')}"
    rows = csv_rows(client.get(url).data)
    lengths = np.linalg.norm(pooled_of(plain, FIRST)) * np.linalg.norm(pooled_of(plain, SECOND))
    expected = parts_of(plain, FIRST) @ parts_of(plain, SECOND).T / lengths
    assert (rows[0]["first"], rows[1]["second"]) == ("[CLS]", "a")
    np.testing.assert_allclose([float(row["added_to_cosine"]) for row in rows], expected.ravel(), atol=1e-5)


def test_the_nearest_sentence_is_that_of_the_largest_cosine(
    client: FlaskClient, base: str, tiny_corpus: Corpus, plain: Any
) -> None:
    pooled = [
        pooled_of(plain, str(text)) for text in tiny_corpus.sentences.text.values[: len(sample_vectors(tiny_corpus))]
    ]
    unit = np.stack([each / np.linalg.norm(each) for each in pooled])
    cosines = unit @ unit[3]
    order = [
        place
        for place in np.argsort(-cosines)
        if str(tiny_corpus.sentences.text.values[place]) != tiny_corpus.sentences.text.values[3]
    ]
    rows = csv_rows(client.get(f"{base}/sentence/3/alike.csv?alike=nearest").data)
    assert sum(float(row["added_to_cosine"]) for row in rows) == pytest.approx(cosines[order[0]], abs=1e-3)


def test_a_number_is_a_sentence_of_the_corpus(client: FlaskClient, base: str, tiny_corpus: Corpus) -> None:
    rows = csv_rows(client.get(f"{base}/sentence/3/alike.csv?alike=5").data)
    second = dict.fromkeys((row["second_position"], row["second"]) for row in rows)
    assert "".join(word for _, word in second).startswith("[CLS]")
    assert str(tiny_corpus.sentences.text.values[5]).split()[0].lower() in [word for _, word in second]


@pytest.mark.parametrize("digits", [5, 5_000])
def test_an_unknown_number_is_refused_with_the_known_ones(
    client: FlaskClient, base: str, tiny_corpus: Corpus, digits: int
) -> None:
    answer = client.get(f"{base}/sentence/3/alike.csv?alike={'9' * digits}")
    assert answer.status_code == 400
    assert f"Give a number from 0 to {tiny_corpus.n_sentences - 1:,}" in answer.text


def test_a_corpus_without_vectors_of_sentences_has_no_nearest(plain_store: str) -> None:
    assert nearest_sentences(open_corpus(plain_store), decomposed_pair()) == []


def test_the_pairs_that_add_most_are_said_with_the_cosine() -> None:
    words = words_of(a_pair())
    products = np.zeros((8, 8))
    products[3, 5], products[1, 1] = 0.4, -0.1
    drawn = texts(draw_likeness(Likeness(words, words, products, 0.3), "was good", "file"))
    assert "“film” and “was” adds 0.400 of 0.30" in drawn


# -- the page -------------------------------------------------------------------------------------------


def test_a_page_splits_the_vector_and_the_cosine_where_its_link_says_so(client: FlaskClient) -> None:
    below = shown(client, "below", "/sentence", "?sentence=3&layer=1&pooled=share&alike=5")
    assert "sum to the length of the vector" in below
    assert "sum to the cosine exactly" in below


def test_a_page_offers_both_and_runs_no_model(client: FlaskClient) -> None:
    below = shown(client, "below", "/sentence", "?sentence=3&layer=1")
    assert "Split the vector over words" in below
    assert "Take the nearest" in below


@pytest.mark.parametrize("file", ["vector.csv", "alike.csv?alike=5"])
def test_a_file_names_its_model_and_its_snapshot(client: FlaskClient, base: str, tiny_store: str, file: str) -> None:
    rows = csv_rows(client.get(f"{base}/sentence/3/{file}").data)
    snapshot = open_snapshot(tiny_store)
    assert {row[PROVENANCE] for row in rows} == {str(Provenance.of(snapshot, [open_corpus(tiny_store).name]))}


@pytest.mark.parametrize("words", [2, 26, 40, 66, 128])
def test_names_of_words_down_the_matrix_do_not_overlap(words: int) -> None:
    units = tuple(Unit(f"word{number}", (number,), 0, special=False) for number in range(words))
    figure = likeness_figure(Likeness(units, units[:2], np.ones((words, 2)), 1.0))
    margin, named = figure.layout.margin, figure.layout.yaxis.tickvals
    plotted = likeness_height(words) - margin.t - margin.b
    assert plotted / words * (named[1] - named[0]) >= 12
