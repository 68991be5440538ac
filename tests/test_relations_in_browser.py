"""Page Relations in a browser: every control by click and by keyboard, kept in the link; narrow windows and axe."""

import re
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Page, expect

import store
from tests.browser import Visit, choose, followed
from tests.client import above


def choose_by_arrows(page: Page, control: str, option: str) -> None:
    """Choose an option of a control, by the keyboard alone."""
    page.get_by_role("textbox", name=control, exact=True).focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option").first).to_be_visible()
    sought = page.locator("[role=option][data-combobox-selected]", has_text=re.compile(f"^{re.escape(option)}$"))
    with followed(page):
        for _ in range(page.get_by_role("option").count()):
            if sought.count():
                break
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")


@pytest.fixture
def relations(visit: Visit, bank_server: str) -> Page:
    return visit(f"{bank_server}/relations?relation=det")


def test_a_relation_a_direction_a_pattern_and_the_head_of_the_pairs_are_chosen(
    relations: Page, bank_corpus: store.Corpus
) -> None:
    choose(relations, "Direction", "governor attends most to dependent")
    expect(relations).to_have_url(re.compile("direction=backward"))
    title = "det (determiner): governor attends most to dependent"
    expect(relations.get_by_role("heading", name=title)).to_be_visible()
    pairs = int(bank_corpus.relations.pairs.sel(relation="amod")[1])
    choose_by_arrows(relations, "Relation", f"amod (adjective modifying a noun), {pairs} pairs")
    expect(relations).to_have_url(re.compile("relation=amod"))
    expect(relations.get_by_role("heading", name="Heads ranked by amod")).to_be_visible()
    box = relations.get_by_placeholder("ADJ -> NOUN, then Enter")
    box.fill("NOUN -> VERB")
    box.press("Enter")
    expect(relations.get_by_role("heading", name="Heads ranked by NOUN -> VERB")).to_be_visible()
    choose(relations, "Links of", "a chosen head")
    expect(relations).to_have_url(re.compile("examples=chosen"))
    expect(relations.get_by_role("heading", name="Pairs that L0 H0 links")).to_be_visible()


def test_pairs_are_those_of_the_chosen_head(bank_client: FlaskClient) -> None:
    page = above(bank_client, "/relations", "?relation=det&examples=chosen&layer=1&head=0")
    assert "Pairs that L1 H0 links" in page


@pytest.mark.slow
def test_a_ranked_head_shows_its_sentences_and_it_its_best_sentence_and_a_pair_open_their_pages(
    relations: Page,
) -> None:
    show = relations.get_by_role("region", name="Heads ranked by det").get_by_role("button", name="show").first
    name = (show.get_attribute("title") or "").removeprefix("Show the sentences of ")
    show.focus()
    relations.keyboard.press("Enter")
    expect(relations.get_by_role("region", name=f"Sentences where {name} finds the most links of det")).to_be_visible()
    table = relations.get_by_role("region", name="Heads ranked by det")
    name = table.get_by_role("row").nth(1).get_by_role("link").first.inner_text()
    layer, head = re.findall(r"\d+", name)
    table.get_by_role("link", name=re.compile("^sentence ")).first.click()
    expect(relations).to_have_url(re.compile(r"/sentence\?"))
    expect(relations).to_have_url(re.compile(f"heads={head}"))
    assert f"layer={layer}" in relations.url or layer == "0"
    relations.go_back()
    relations.locator(".pair td a").first.click()
    expect(relations).to_have_url(re.compile(r"/sentence\?"))
    expect(relations.get_by_role("heading", name="Sentence").first).to_be_visible()
    relations.go_back()
    table.get_by_role("row").nth(1).get_by_role("link").first.click()
    expect(relations.get_by_role("heading", name=f"Queries and keys of {name}")).to_be_visible()


def mark(page: Page, first: int, second: int, press: Callable[[Page, int], None]) -> None:
    press(page, first)
    expect(page.get_by_text("should attend to; or")).to_be_visible()
    press(page, second)
    expect(page.get_by_text("Choose a word, then")).to_be_visible()


def click(page: Page, word: int) -> None:
    page.locator(".pair.words .word").nth(word).click()


def enter(page: Page, word: int) -> None:
    page.locator(".pair.words .word").nth(word).focus()
    page.keyboard.press("Enter")


def test_pairs_of_two_sentences_are_marked_by_click_or_enter_open_the_heads_of_their_pattern_and_are_removed(
    relations: Page, bank_corpus: store.Corpus
) -> None:
    mark(relations, 0, 1, click)
    number = relations.get_by_role("textbox", name="Sentence", exact=True)
    number.fill("1")
    number.press("Enter")
    spelled = " ".join(bank_corpus.words.texts(bank_corpus.words.rows(1)))
    expect(relations.locator(".pair.words")).to_have_text(spelled)
    mark(relations, 0, 1, enter)
    expect(relations.get_by_role("columnheader", name="links, of 2")).to_be_visible()
    expect(relations.get_by_text("the parts of speech of the marked words")).to_be_visible()
    relations.get_by_role("link", name="All heads at this pattern").click()
    expect(relations.get_by_role("heading", name=re.compile(r"^Heads ranked by \w+ -> \w+$"))).to_be_visible()
    relations.go_back()
    removed = relations.locator(".remove")
    expect(removed).to_have_count(2)
    for left in (1, 0):
        removed.first.focus()
        relations.keyboard.press("Enter")
        expect(removed).to_have_count(left)
    expect(relations).not_to_have_url(re.compile("example="))


@pytest.mark.slow
def test_a_link_of_overview_leads_to_the_section_that_it_names(visit: Visit, bank_server: str) -> None:
    overview = visit(f"{bank_server}/")
    overview.get_by_role("link", name="Test a hypothesis of your own").click()
    expect(overview.locator("#own-hypothesis")).to_be_in_viewport()
    expect(overview).to_have_url(re.compile(r"/relations#own-hypothesis$"))
