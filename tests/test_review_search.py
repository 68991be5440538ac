"""Searches for a phrase in a whole review, against its text as it stands in the data."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient
from tokenizers.pre_tokenizers import BertPreTokenizer

from dashboard.features.data import FeaturePanels
from dashboard.features.feature_tokens import FeatureTokens, TokenSelection
from dashboard.points.point_set import mask
from dashboard.points.search import parted
from store import Corpus

REVIEW = 3


@pytest.fixture
def text(tiny_data: Path) -> str:
    """The review in lower case, without its breaks."""
    with tiny_data.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return " ".join(re.sub("<br />", " ", rows[REVIEW]["text"]).lower().split())


def words_touched(text: str, sought: str) -> set[int]:
    """Numbers of the words that an occurrence touches, letter by letter."""
    touched = {at + step for at in range(len(text)) if text.startswith(sought, at) for step in range(len(sought))}
    words = enumerate(re.finditer(r"\w+|[^\w\s]", text))
    return {number for number, word in words if touched & set(range(*word.span()))}


def selected(corpus: Corpus, q: str) -> np.ndarray:
    features = corpus.features(f"review-{REVIEW}")
    points = FeatureTokens(FeaturePanels(corpus, features), features.n_tokens)
    return mask(points, TokenSelection(q, "phrase"))[0, :, 0]


def test_every_stretch_of_a_review_selects_the_words_it_touches(tiny_corpus: Corpus, text: str) -> None:
    word_index = tiny_corpus.features(f"review-{REVIEW}").tokens.word_index.values
    assert word_index.max() + 1 == len(re.findall(r"\w+|[^\w\s]", text))
    for start in range(0, len(text) - 14, 5):
        for sought in filter(None, (text[start : start + length].strip() for length in (1, 4, 13))):
            expected = np.isin(word_index, list(words_touched(text, sought)))
            assert (selected(tiny_corpus, sought) == expected).all(), sought


@pytest.mark.parametrize("q", ["nowhere to be found", "[CLS]", "( ?", "\x00"])
def test_a_word_that_does_not_occur_selects_nothing(tiny_corpus: Corpus, q: str) -> None:
    assert not selected(tiny_corpus, q).any()


def test_white_space_and_case_of_a_phrase_do_not_matter(tiny_corpus: Corpus, text: str) -> None:
    first, second = text.split()[:2]
    mask = selected(tiny_corpus, f"{first} {second}")
    assert mask.any()
    assert (selected(tiny_corpus, f" {first.upper()} \t {second}") == mask).all()


def test_accents_of_a_phrase_do_not_matter_as_they_do_not_to_the_model(tiny_corpus: Corpus, text: str) -> None:
    phrase = " ".join(text.split()[:2])
    accented = re.sub("[aeo]", lambda vowel: f"{vowel.group()}\u0301", phrase)
    assert accented != phrase
    assert selected(tiny_corpus, phrase).any()
    assert (selected(tiny_corpus, accented) == selected(tiny_corpus, phrase)).all()


def test_the_canvas_gets_the_tokens_of_a_phrase(client: FlaskClient, base: str, tiny_corpus: Corpus, text: str) -> None:
    phrase = " ".join(text.split()[:2])
    answer = client.get(f"{base}/features/review-{REVIEW}/mask.bin", query_string={"q": phrase, "within": "phrase"})
    bits = np.unpackbits(np.frombuffer(answer.data[16:], np.uint8))
    mask = selected(tiny_corpus, phrase)
    assert (bits[: len(mask)] == mask).all()


@pytest.mark.parametrize("text", ["don't", "a--b  c!", "3.5% of $9", "“so…”", "", " ", "plain words"])
def test_words_are_parted_as_the_tokenizer_parts_them(text: str) -> None:
    assert parted(text, at_marks=True) == " ".join(word for word, _ in BertPreTokenizer().pre_tokenize_str(text))
