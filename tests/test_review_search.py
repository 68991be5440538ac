"""Searches for a phrase in a whole review, against its text in the data."""

import csv
import itertools
import re
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from dash import html
from flask.testing import FlaskClient
from tokenizers.pre_tokenizers import BertPreTokenizer

from dashboard.features.data import FeaturePanels
from dashboard.features.feature_tokens import FeatureTokens, TokenSelection
from dashboard.pages import TOPICS
from dashboard.points.point_set import mask
from dashboard.points.search import folded, matching_tokens, parted
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import Corpus
from store.phrases import many

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


def selected_line(store: str, q: str, within: str) -> html.P:
    """The line on the page of the review that says how many tokens are selected."""
    search = urlencode({"material": f"review-{REVIEW}", "q": q, "within": within})
    page = TOPICS["features"].layout(resolve(ServedStore(store), "/features", f"?{search}", ""))
    (line,) = [part for part in page.above[-1]._traverse() if "one-row" in (getattr(part, "className", None) or "")]
    return line


def test_a_phrase_of_the_review_that_no_sentence_of_the_corpus_has_is_found(
    tiny_store: str, tiny_corpus: Corpus, text: str
) -> None:
    across = next(f"{first}. {second}" for first, second in itertools.pairwise(text.split(". ")))
    assert not matching_tokens(tiny_corpus, across, "phrase").any()
    line = str(selected_line(tiny_store, across, "phrase"))
    assert f"{selected(tiny_corpus, across).sum()} of" in line
    assert "No token" not in line


def test_a_search_without_hits_in_a_review_offers_the_ways_that_find_tokens_of_the_review(
    tiny_store: str, tiny_corpus: Corpus
) -> None:
    pieces = [folded(piece.text) for piece in tiny_corpus.features(f"review-{REVIEW}").pieces]
    begins = next(piece for piece in pieces if len(piece) > 3 and piece.isalpha())[:-1]
    assert begins not in pieces
    line = selected_line(tiny_store, begins, "token")
    assert line.children[0] == f"No token of the review matches “{begins}” as a token. "
    found = sum(piece.startswith(begins) for piece in pieces)
    assert f"{many(found, 'token')} as a prefix" in [getattr(part, "children", "") for part in line.children]
    assert "lemma" not in str(line.children)
