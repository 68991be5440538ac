"""Page Head in a browser: points with their cards, zoom and pan, neighbours, choices, links."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from store import Corpus
from tests.browser import Open, Visit, canvas_place, choose, drawn, expect_title, picture, seen

#: The place in the picture (0..1 from the upper left) of point 1 of the canvas: the first token's key.
POINT = """(async () => {
  const { decodePoints } = await import("/assets/canvas/painter.mjs");
  const source = document.querySelector(".frame").dataset.drawn;
  const { places, most } = decodePoints(await (await fetch(source)).arrayBuffer());
  return [places[2] / most, 1 - places[3] / most];
})()"""


@pytest.fixture
def head_page(visit: Visit, tiny_server: str) -> Page:
    return drawn(visit(f"{tiny_server}/head?layer=1&head=0"))


def test_hover_and_a_click_show_a_card_and_the_picture_is_zoomed_moved_and_reset(head_page: Page) -> None:
    shows_a_card(head_page)
    zooms(head_page)


def shows_a_card(head_page: Page) -> None:
    """Hovering a point shows its card, with the token in its sentence; a click keeps the card until Escape."""
    place, tip = canvas_place(head_page, *head_page.evaluate(POINT)), head_page.locator(".points .tip")
    head_page.mouse.move(*place)
    expect(tip).to_be_visible()
    expect(tip).to_contain_text(re.compile(r"position \d+ of \d+ in sentence \d+"))
    expect(tip).to_contain_text("times its even share")
    expect(tip.locator("mark")).to_have_count(1)
    head_page.mouse.click(*place)
    expect(tip).to_be_visible()
    head_page.mouse.move(*canvas_place(head_page, 0.99, 0.99))
    expect(tip).to_be_visible()
    head_page.locator(".frame").press("Escape")
    expect(tip).to_be_hidden()


def zooms(head_page: Page) -> None:
    """The wheel zooms, zero resets, dragging moves the zoomed picture."""
    head_page.mouse.move(*canvas_place(head_page, 0.5, 0.5))
    head_page.mouse.wheel(0, -500)
    expect(head_page.locator(".frame")).to_have_attribute("data-zoom", "2.12")
    head_page.locator(".frame").press("0")
    expect(head_page.locator(".frame")).to_have_attribute("data-zoom", "1.00")
    head_page.locator(".frame").press("+")
    expect(head_page.locator(".frame")).to_have_attribute("data-zoom", "1.50")
    before = picture(head_page)
    head_page.mouse.move(*canvas_place(head_page, 0.5, 0.5))
    head_page.mouse.down()
    head_page.mouse.move(*canvas_place(head_page, 0.7, 0.6), steps=3)
    head_page.mouse.up()
    seen(head_page, lambda shown: bool((shown != before).any(axis=-1).mean() > 0.01))


def test_keys_links_and_controls_go_to_other_heads_and_back_leads_to_the_one_before(head_page: Page) -> None:
    head_page.locator(".frame").press("ArrowLeft")  # beyond the last head
    head_page.wait_for_timeout(300)
    expect_title(head_page, "Queries and keys of L1 H0")
    head_page.locator(".frame").press("ArrowRight")
    expect_title(head_page, "Queries and keys of L1 H1")
    expect(head_page.locator('.frame[data-drawn*="/1/1.bin"]')).to_be_focused()
    head_page.keyboard.press("ArrowUp")
    expect_title(head_page, "Queries and keys of L0 H1")
    head_page.go_back()
    expect_title(head_page, "Queries and keys of L1 H1")
    choose(head_page, "Head", "0")
    expect_title(head_page, "Queries and keys of L1 H0")
    head_page.get_by_title("next head: L1 H1").click()
    expect_title(head_page, "Queries and keys of L1 H1")
    choose(head_page, "Layer", "0")
    expect_title(head_page, "Queries and keys of L0 H1")


def pinned(page: Page, corpus: Corpus) -> str:
    return f"{page.url}&model={corpus.name}&snapshot={corpus.snapshot}"


def test_a_link_is_copied_once_its_snapshot_is_known_and_stands_in_the_address_bar_where_there_is_no_clipboard(
    open_page: Open, tiny_server: str, tiny_corpus: Corpus
) -> None:
    page = open_page("about:blank")
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    page.route("**/data/page", hold)
    with page.expect_request("**/data/page"):
        page.goto(f"{tiny_server}/head?layer=1&head=0", wait_until="commit")
    expect(page.get_by_role("button", name="Copy link")).to_be_disabled()
    waiting.pop().continue_()
    expect(page.get_by_role("button", name="Copy link")).to_be_enabled()
    expected = pinned(page, tiny_corpus)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == expected
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.get_by_role("button", name="Copied").click()
    expect(page.get_by_role("button", name="Copy it from the address bar")).to_be_visible()
    assert page.url == expected
