"""Page Head in a browser: points with their cards, zoom and pan, neighbours, choices, links."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from store import Corpus
from tests.browser import Open, Visit, canvas_place, choose, drawn, expect_title, picture, seen

#: Where in the picture (0..1 from the upper left) point 1 of the canvas stands: the first token's key.
POINT = """(async () => {
  const { decodePoints } = await import("/assets/canvas/decode.mjs");
  const source = document.querySelector(".frame").dataset.drawn;
  const { places, most } = decodePoints(await (await fetch(source)).arrayBuffer());
  return [places[2] / most, 1 - places[3] / most];
})()"""


@pytest.fixture
def head_page(visit: Visit, tiny_server: str) -> Page:
    return drawn(visit(f"{tiny_server}/head?layer=1&head=0"))


def hover_first_key(page: Page) -> None:
    page.mouse.move(*canvas_place(page, *page.evaluate(POINT)))
    expect(page.locator(".points .tip")).to_be_visible()


def test_hover_shows_the_token_in_its_sentence_and_its_attention(head_page: Page) -> None:
    hover_first_key(head_page)
    expect(head_page.locator(".points .tip")).to_contain_text(re.compile(r"position \d+ of \d+ in sentence \d+"))
    expect(head_page.locator(".points .tip")).to_contain_text("attention received")
    expect(head_page.locator(".points .tip mark")).to_have_count(1)


def test_a_click_keeps_the_card_until_escape(head_page: Page) -> None:
    head_page.mouse.click(*canvas_place(head_page, *head_page.evaluate(POINT)))
    expect(head_page.locator(".points .tip")).to_be_visible()
    head_page.mouse.move(*canvas_place(head_page, 0.99, 0.99))
    expect(head_page.locator(".points .tip")).to_be_visible()
    head_page.locator(".frame").press("Escape")
    expect(head_page.locator(".points .tip")).to_be_hidden()


def test_the_wheel_zooms_and_zero_resets(head_page: Page) -> None:
    head_page.mouse.move(*canvas_place(head_page, 0.5, 0.5))
    head_page.mouse.wheel(0, -500)
    expect(head_page.locator(".frame")).to_have_attribute("data-zoom", "2.12")
    head_page.locator(".frame").press("0")
    expect(head_page.locator(".frame")).to_have_attribute("data-zoom", "1.00")


def test_dragging_moves_the_zoomed_picture(head_page: Page) -> None:
    head_page.locator(".frame").press("+")
    expect(head_page.locator(".frame")).to_have_attribute("data-zoom", "1.50")
    before = picture(head_page)
    head_page.mouse.move(*canvas_place(head_page, 0.5, 0.5))
    head_page.mouse.down()
    head_page.mouse.move(*canvas_place(head_page, 0.7, 0.6), steps=3)
    head_page.mouse.up()
    seen(head_page, lambda shown: bool((shown != before).any(axis=-1).mean() > 0.01))


def test_arrow_keys_go_to_the_neighbours_and_the_keyboard_stays(head_page: Page) -> None:
    head_page.locator(".frame").press("ArrowRight")
    expect(head_page.get_by_role("heading", level=1)).to_have_text("Queries and keys of L1 H1")
    expect(head_page.locator('.frame[data-drawn*="/1/1.bin"]')).to_be_focused()
    head_page.keyboard.press("ArrowUp")
    expect(head_page.get_by_role("heading", level=1)).to_have_text("Queries and keys of L0 H1")


def test_beyond_the_last_head_an_arrow_key_stays(head_page: Page) -> None:
    head_page.locator(".frame").press("ArrowLeft")
    head_page.wait_for_timeout(300)
    expect(head_page.get_by_role("heading", level=1)).to_have_text("Queries and keys of L1 H0")


def test_a_neighbour_is_also_a_link(head_page: Page) -> None:
    head_page.get_by_title("next head: L1 H1").click()
    expect(head_page.get_by_role("heading", level=1)).to_have_text("Queries and keys of L1 H1")


@pytest.mark.parametrize(("choice", "option", "shown"), [("Layer", "0", "L0 H0"), ("Head", "1", "L1 H1")])
def test_a_choice_becomes_a_link(head_page: Page, choice: str, option: str, shown: str) -> None:
    choose(head_page, choice, option)
    expect_title(head_page, f"Queries and keys of {shown}")
    head_page.reload()
    expect_title(head_page, f"Queries and keys of {shown}")


def test_a_link_restores_the_view(open_page: Open, tiny_server: str) -> None:
    page = drawn(open_page(f"{tiny_server}/head?layer=0&head=1&tokens=50"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Queries and keys of L0 H1")
    expect(page.get_by_text(re.compile(r"\b50 of "))).to_be_visible()
    assert page.url.endswith("/head?layer=0&head=1&tokens=50")


def test_going_back_shows_the_head_before(head_page: Page) -> None:
    head_page.locator(".frame").press("ArrowRight")
    expect(head_page.get_by_role("heading", level=1)).to_have_text("Queries and keys of L1 H1")
    head_page.go_back()
    expect(head_page.get_by_role("heading", level=1)).to_have_text("Queries and keys of L1 H0")


def pinned(page: Page, corpus: Corpus) -> str:
    return f"{page.url}&model={corpus.name}&snapshot={corpus.snapshot}"


def test_a_copied_link_names_model_and_snapshot(head_page: Page, tiny_corpus: Corpus) -> None:
    head_page.get_by_role("button", name="Copy link").click()
    expect(head_page.get_by_role("button", name="Copied")).to_be_visible()
    assert head_page.evaluate("navigator.clipboard.readText()") == pinned(head_page, tiny_corpus)


def test_a_link_is_not_copied_before_its_snapshot_is_known(open_page: Open, tiny_server: str) -> None:
    page = open_page("about:blank")
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    page.route("**/data/page", hold)
    with page.expect_request("**/data/page"):
        page.goto(f"{tiny_server}/head", wait_until="commit")
    expect(page.get_by_role("button", name="Copy link")).to_be_disabled()
    waiting.pop().continue_()
    expect(page.get_by_role("button", name="Copy link")).to_be_enabled()


def test_where_a_browser_lends_no_clipboard_the_address_bar_has_the_link(
    open_page: Open, tiny_server: str, tiny_corpus: Corpus
) -> None:
    page = open_page(f"{tiny_server}/head?layer=1&head=0")
    expect(page.get_by_role("button", name="Copy link")).to_be_enabled()
    expected = pinned(page, tiny_corpus)
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copy it from the address bar")).to_be_visible()
    assert page.url == expected


def test_the_statistics_beside_the_picture_are_those_of_the_store(head_page: Page, tiny_corpus: Corpus) -> None:
    value = float(tiny_corpus.head_statistic.sel(source="all", statistic="to_sep", layer=1, head=0))
    row = head_page.get_by_role("row").filter(has_text=re.compile(r"^attention to \[SEP\]"))
    expect(row).to_contain_text(f"{100 * value:.1f}%")


def test_a_layer_out_of_range_gets_a_notice(visit: Visit, tiny_server: str) -> None:
    page = drawn(visit(f"{tiny_server}/head?layer=99&head=%3Cscript%3E"))
    expect(page.get_by_text("layer=99 is out of range (0-1); showing 1")).to_be_visible()
    expect(page.get_by_text("head=<script> is not a whole number (0-1); showing 0")).to_be_visible()
