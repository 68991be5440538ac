"""The words of a first page come before its scripts, and stand where the page has them."""

import re
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser import Open
from tests.standing import settled

#: Visible texts of a page, each with its place: left and top, in pixels.
WORDS = """(root) => [...document.querySelectorAll(`${root} :is(h1, h2, h3, p, td, .page-link, .brand)`)]
  .map((element) => [element.innerText, element.getBoundingClientRect()])
  .filter(([text, { top, height, left }]) => text && height && top < innerHeight && left >= 0)
  .map(([text, { left, top }]) => [text, Math.round(left), Math.round(top)])"""
#: Pixels by which a word may move when the page comes: lengths are rounded.
LITTLE = 2
EARLY = ".early"
Words = dict[str, tuple[int, int]]


@dataclass
class HeldScripts:
    """Pages whose scripts arrive when a test releases them."""

    open_page: Open
    server: str
    routes: list[Route] = field(default_factory=list)

    def open(self, path: str, width: int = 1440) -> Page:
        page = self.open_page("about:blank")
        page.set_viewport_size({"width": width, "height": 900})
        page.route(re.compile("dash_renderer"), lambda route: self.routes.append(route))
        page.goto(f"{self.server}{path}", wait_until="commit")
        expect(page.locator(f"{EARLY} h1")).to_be_visible()
        return page

    def release(self, page: Page) -> None:
        for route in self.routes:
            route.continue_()
        expect(page.locator("#page h1")).to_be_visible()


@pytest.fixture
def held(open_page: Open, roles_server: str) -> HeldScripts:
    return HeldScripts(open_page, roles_server)


def _words(page: Page, root: str) -> Words:
    return {text: (left, top) for text, left, top in page.evaluate(WORDS, root)}


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("path", ["/", "/statistics", "/head?layer=1&head=0", "/sentence", "/server"])
def test_words_stand_where_they_stood_before_the_scripts_came(held: HeldScripts, path: str, width: int) -> None:
    page = held.open(path, width)
    early = _words(page, EARLY)
    held.release(page)
    settled(page)
    words = _words(page, "body")
    moved = {
        text: (place, words.get(text))
        for text, place in early.items()
        if max(abs(a - b) for a, b in zip(place, words.get(text, (-999, -999)), strict=True)) > LITTLE
    }
    assert early
    assert not moved


def test_the_page_takes_the_place_of_its_early_words(held: HeldScripts) -> None:
    page = held.open("/")
    held.release(page)
    expect(page.locator(EARLY)).to_have_count(0)
    expect(page.locator("h1")).to_have_count(1)


def test_a_screen_reader_and_the_keyboard_wait_for_the_page(held: HeldScripts) -> None:
    page = held.open("/")
    expect(page.get_by_role("heading")).to_have_count(0)
    page.keyboard.press("Tab")
    assert page.evaluate("(root) => document.querySelector(root).contains(document.activeElement)", EARLY) is False


def test_a_link_to_a_part_of_a_page_has_no_early_words_of_its_top(open_page: Open, roles_server: str) -> None:
    page = open_page("about:blank")
    page.add_init_script(
        "new MutationObserver(() => document.querySelector('.early') && (window.wasEarly = true))"
        ".observe(document, { childList: true, subtree: true })"
    )
    page.goto(f"{roles_server}/relations#own-hypothesis")
    expect(page.locator("#page h1")).to_be_visible()
    assert page.evaluate("window.wasEarly === undefined")
