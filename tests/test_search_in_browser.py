"""Searching in a browser: counts, sentences, and highlights in every head at once."""

import re
import struct

import numpy as np
import pytest
from playwright.sync_api import Page, Route, expect

from store import Corpus
from store.phrases import many
from tests.browser import Open, Visit, changed, choose, drawn, expect_title, followed, picture, quarters, seen

MATCHES = {"token": "token", "prefix": "prefix", "phrase": "phrase"}


@pytest.fixture
def heads(visit: Visit, space_server: str) -> Page:
    return drawn(visit(f"{space_server}/heads"))


def ask(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Search").fill(text)
    page.get_by_role("textbox", name="Search").press("Enter")


def search(page: Page, text: str, within: str = "token") -> None:
    ask(page, text)
    expect(page.locator(".frame")).to_have_attribute("data-masked", re.compile("q="))
    if within != "token":
        choose(page, "Match", MATCHES[within])
        expect(page.locator(".frame")).to_have_attribute("data-masked", re.compile(f"within={within}"))


def has_sentences(page: Page, numbers: list[int]) -> None:
    """Wait until the table has these sentences."""
    rows = page.get_by_role("region", name="Matching sentences").locator("tbody tr")
    expect(rows.locator("td:first-child")).to_have_text([f"{number:,}" for number in numbers])


def mask_of(page: Page) -> np.ndarray:
    """The mask (panel, token, role) that the picture was given."""
    address = page.locator(".frame").get_attribute("data-masked") or ""
    body = page.request.get("/".join(page.url.split("/")[:3]) + address).body()
    panels, tokens, _ = struct.unpack("<3I", body[4:16])
    bits = np.unpackbits(np.frombuffer(body, np.uint8, offset=16))[: panels * tokens * 2]
    return bits.reshape(panels, tokens, 2).astype(bool)


def test_a_search_counts_what_is_in_the_store_and_stands_out_in_all_heads_until_it_is_taken_away(
    heads: Page, space: Corpus
) -> None:
    before = picture(heads)
    with followed(heads):
        search(heads, "Film")
    meets = np.array([piece.lower() == "film" for piece in space.wordpieces(space.rows)])
    sentences = np.unique(space.tokens.sentence_index.values[space.rows[meets]])
    count = heads.locator(".count")
    expect(count).to_contain_text(f"{2 * meets.sum():,} of {2 * len(meets):,} drawn queries and keys are selected")
    expect(count).to_contain_text(f"finds {meets.sum():,} tokens in {len(sentences):,} sentences of the corpus")
    has_sentences(heads, sentences[:50].tolist())
    np.testing.assert_array_equal(mask_of(heads)[0], np.stack([meets, meets], axis=-1))
    plain = quarters(before)
    seen(heads, lambda shown: min(map(changed, plain, quarters(shown))) > 0.005)
    with followed(heads):
        ask(heads, "")
    expect(heads.locator(".frame")).to_have_attribute("data-masked", "")
    expect(count).to_be_empty()
    seen(heads, lambda shown: np.array_equal(shown, before))


def test_a_phrase_is_sought_in_the_sentences_no_hits_get_a_message_and_a_found_sentence_opens_at_its_token(
    heads: Page, space: Corpus
) -> None:
    """Searches for prefixes are in `test_search.py`."""
    text = str(space.sentences.text.values[3])
    phrase = " ".join(text.split()[1:3])
    search(heads, phrase, "phrase")
    expected = [at for at, text in enumerate(space.sentences.text.values) if phrase.lower() in str(text).lower()]
    expect(heads.locator(".count")).to_contain_text(f"in {many(len(expected), 'sentence')}")
    has_sentences(heads, expected)
    expect(heads.locator(".rows mark").first).to_have_text(re.compile(phrase, re.IGNORECASE))
    ask(heads, "platypus")
    expect(heads.get_by_text("No token matches “platypus” as a phrase.")).to_be_visible()
    ask(heads, "film")
    token = space.wordpieces(space.rows).index("film")
    heads.get_by_title("Show the token in its head").first.click()
    expect_title(heads, "Queries and keys of L0 H0")
    expect(heads).to_have_url(re.compile(f"token={token}(&|$)"))
    expect(heads.get_by_role("heading", name="The query of “film”")).to_be_visible()


def held(page: Page, word: str) -> list[Route]:
    """Requests for the controls of a page with this word, which are held until the test lets them go."""
    routes: list[Route] = []

    def hold(route: Route) -> None:
        body = route.request.post_data or ""
        if word in body:
            routes.append(route)
        else:
            route.fallback()

    page.route("**/data/page", hold)
    return routes


def let_go(page: Page, routes: list[Route]) -> None:
    assert routes
    while routes:
        routes.pop().continue_()
    page.wait_for_timeout(500)


@pytest.mark.slow
def test_what_a_reader_does_while_the_page_follows_a_search_stays(open_page: Open, space_server: str) -> None:
    page = drawn(open_page(f"{space_server}/heads"))
    routes, box = held(page, "film"), page.get_by_role("textbox", name="Search")

    ask(page, "film")  # taken away
    expect(page).to_have_url(re.compile("q=film"))
    ask(page, "")
    expect(page.locator(".frame")).to_have_attribute("data-masked", "")
    let_go(page, routes)
    expect(page).not_to_have_url(re.compile("q="))
    expect(box).to_have_value("")

    ask(page, "film")  # half of another word typed
    expect(page).to_have_url(re.compile("q=film"))
    box.fill("goo")
    let_go(page, routes)
    page.keyboard.type("d")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q=good"))

    ask(page, "film")  # a list opened
    expect(page).to_have_url(re.compile("q=film"))
    page.get_by_role("textbox", name="Match", exact=True).click()
    expect(page.get_by_role("option", name=MATCHES["prefix"], exact=True)).to_be_visible()
    let_go(page, routes)
    page.get_by_role("option", name=MATCHES["prefix"], exact=True).click()
    expect(page).to_have_url(re.compile("within=prefix"))
