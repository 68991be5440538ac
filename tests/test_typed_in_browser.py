"""A sentence that a reader types behaves like one of the corpus, in a browser, with any text."""

import re
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from playwright.sync_api import Page, expect

from dashboard.app import create_app
from dashboard.sentence.encoder import TypedSentences
from dashboard.sentence.sentence import Sentence
from dashboard.web.served_store import ServedStore
from store import Corpus
from tests.accessibility import is_accessible
from tests.browser import Open, Visit, choose, drawn, followed, listening
from tests.client import FakeTyped
from tests.sentence_page import ROOT, drawn_weights, link_fields, pieces, sentence_page, shown
from tests.tiny_models import POSITIONS

TEXT = "The film was good, and the music not."
SECOND = "We loved it."
ARABIC = "كان الفيلم جيدا"
HOSTILE = "<img src=x onerror=alert(1)> <b>film</b> 👨‍👩‍👧"


class LoadingTyped(FakeTyped):
    """Typed sentences of which the first waits until the model is loaded."""

    def __init__(self) -> None:
        self.model = Event()

    def has_loaded(self, corpus: Corpus) -> bool:
        return super().has_loaded(corpus) and self.model.is_set()

    def is_encoded(self, corpus: Corpus, text: str, second: str) -> bool:
        return self.has_loaded(corpus) and bool(text or second)

    def encode(self, corpus: Corpus, text: str, second: str, has_left: Callable[[], bool]) -> Sentence:
        assert self.model.wait(timeout=30)
        return super().encode(corpus, text, second, has_left)


@pytest.fixture
def page(visit: Visit, tiny_server: str) -> Page:
    return sentence_page(visit, tiny_server, layer=1)


def type_text(page: Page, text: str, box: str = "Sentence A") -> Page:
    """Type a text and press Enter; returns the page once the weights are drawn."""
    page.get_by_role("textbox", name=box, exact=True).fill(text)
    with followed(page):
        page.keyboard.press("Enter")
    expect(page.locator(ROOT)).to_have_attribute("data-drawn", re.compile("/typed/"))
    return page


def expected(eager: Any, folder: Path, *texts: str) -> tuple[list[str], np.ndarray]:
    """Tokens and attention (head, query, key) of layer 1 by transformers alone."""
    tokenizer = transformers.BertTokenizer.from_pretrained(folder)
    inputs = tokenizer(*texts, return_tensors="pt")
    with torch.inference_mode():
        pattern = eager(folder)(**inputs, output_attentions=True).attentions[1][0].numpy()
    return tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]), pattern


def test_a_typed_sentence_and_a_typed_pair_have_the_weights_of_the_model_until_the_box_is_emptied(
    page: Page, eager: Any, tiny_model: Path
) -> None:
    type_text(page, TEXT)
    expect(page.get_by_role("heading", level=1)).to_have_text("Your own sentence")
    tokens, pattern = expected(eager, tiny_model, TEXT)
    assert pieces(page) == tokens
    np.testing.assert_allclose(drawn_weights(page), pattern, atol=3e-3)
    type_text(page, SECOND, "Sentence B (optional)")
    tokens, pattern = expected(eager, tiny_model, TEXT, SECOND)
    expect(page.locator(".tokens.query .token")).to_have_count(len(tokens))
    np.testing.assert_allclose(drawn_weights(page), pattern, atol=3e-3)
    page.get_by_role("textbox", name="Sentence A", exact=True).fill("")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Sentence 0 of")
    assert "text" not in link_fields(page)


@pytest.mark.slow
def test_a_link_brings_a_pair_back_whose_filter_leaves_one_side_s_queries_and_the_other_s_keys(
    visit: Visit, tiny_server: str
) -> None:
    page = sentence_page(visit, tiny_server, text=TEXT, second=SECOND)
    expect(page.get_by_role("textbox", name="Sentence A", exact=True)).to_have_value(TEXT)
    tokens = pieces(page)
    first = tokens.index("[SEP]") + 1
    with followed(page):
        page.get_by_text("A → B", exact=True).click()
    expect(page).to_have_url(re.compile(r"pair=ab(&|$)"))
    expect(page.locator(".tokens.key .token")).to_have_count(len(tokens) - first)
    assert (pieces(page, "query"), pieces(page, "key")) == (tokens[:first], tokens[first:])
    is_accessible(page)


@pytest.mark.slow
def test_markup_emoji_and_arabic_are_shown_as_they_were_typed(page: Page) -> None:
    type_text(page, HOSTILE)
    line = page.locator(".sentence-text")
    expect(line).to_contain_text(HOSTILE)
    assert page.locator(".sentence-text img, .sentence-text b").count() == 0
    assert "[UNK]" in pieces(page)
    type_text(page, ARABIC)
    expect(line).to_contain_text(ARABIC)
    assert line.evaluate("element => getComputedStyle(element).direction") == "rtl"


@pytest.mark.slow
def test_ten_thousand_words_are_cut_with_a_notice(page: Page) -> None:
    type_text(page, "film " * 10_000)
    notice = f"The text is cut at {POSITIONS} wordpieces: the model or this server reads no more. Type a shorter text, or its parts one by one."
    expect(page.get_by_text(notice)).to_be_visible()
    expect(page.get_by_text("The text is too long for a link")).to_be_visible()
    expect(page.locator(".tokens.query .token")).to_have_count(POSITIONS)


@pytest.mark.slow
def test_the_page_says_that_the_first_typed_sentence_waits_for_the_model(open_page: Open, tiny_store: str) -> None:
    served_store, loading = ServedStore(tiny_store), LoadingTyped()
    served_store.put(TypedSentences, loading)  # type: ignore[arg-type]
    with listening(create_app(served_store).server) as address:
        page = sentence_page(open_page, address, layer=1)
        page.get_by_role("textbox", name="Sentence A", exact=True).fill(TEXT)
        page.keyboard.press("Enter")
        waiting = page.locator(".wait .state", has_text="Computing this sentence, once the model is loaded")
        expect(waiting).to_be_visible()
        loading.model.set()
        expect(page.locator(ROOT)).to_have_attribute("data-drawn", re.compile("/typed/"))
        expect(waiting).to_be_hidden()


def test_a_text_that_cannot_be_read_can_be_typed_again_and_stands_among_the_corpus_points(page: Page) -> None:
    box = page.get_by_role("textbox", name="Sentence A", exact=True)
    box.fill("\u0301\u0301")
    with followed(page):
        page.keyboard.press("Enter")
    expect(page.locator(".problem:visible")).to_contain_text("Type one, such as: The film was good.")
    type_text(page, TEXT)
    assert pieces(page)[1] == "the"
    page.get_by_role("link", name=re.compile("See these words among all")).click()
    drawn(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Queries and keys of L1 H0")
    assert link_fields(page)["text"] == TEXT
    is_accessible(page)


def test_every_view_takes_a_typed_sentence(visit: Visit, tiny_server: str) -> None:
    page = sentence_page(visit, tiny_server, text=TEXT, queries=2)
    for view, link in (("Model view", "model"), ("Matrix view", "matrix"), ("Neuron view", "neuron")):
        choose(page, "View", view)
        expect(page).to_have_url(re.compile(f"show={link}"))
        shown(page)
