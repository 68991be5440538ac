"""A slow part of a page in a browser: nothing moves when the part arrives, and a failed part can be tried again."""

import re
from collections.abc import Iterator
from threading import Event

import pytest
from playwright.sync_api import Page, expect

from dashboard.app import create_app
from dashboard.points import similar
from dashboard.points.similar import SIMILAR, Point
from dashboard.web.errors import NotYet, Refusal
from dashboard.web.served_store import ServedStore
from store import Corpus
from tests.browser import Open, drawn, listening, turned_to
from tests.standing import settled

#: Adds up the layout shifts from now on.
OBSERVE = """() => {
  window.moved = 0;
  const add = (list) => list.getEntries().forEach(({ value }) => (window.moved += value));
  new PerformanceObserver(add).observe({ type: "layout-shift" });
}"""
REFUSED = "The server is busy. Try again in a few seconds."
#: Pixels that a part may leave free: texts of other heads have more lines.
LITTLE = 130
#: Pixels that each part leaves free of its reserved height, by its name; below 0 the part moves the page below it.
FREE = """() => Object.fromEntries([...document.querySelectorAll(".deferred")].map((part) => {
  const reserved = parseFloat(getComputedStyle(part).minHeight);
  part.style.minHeight = "0";
  const { height } = part.getBoundingClientRect();
  part.style.minHeight = "";
  return [JSON.parse(part.id).place, reserved - height];
}))"""


class SlowSearch:
    """A search for similar tokens that waits for `may`; it refuses where `refuses` or `is_busy` is set."""

    def __init__(self) -> None:
        self.refuses, self.is_busy, self.may = False, False, Event()
        self._search = similar.similar_tokens

    def __call__(self, corpus: Corpus, point: Point) -> similar.Similar:
        self.may.wait(120)
        if self.refuses:
            raise Refusal(REFUSED, 503)
        if self.is_busy:
            raise NotYet(REFUSED)
        return self._search(corpus, point)


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> SlowSearch:
    slow = SlowSearch()
    monkeypatch.setattr(similar, "similar_tokens", slow)
    return slow


@pytest.fixture
def page(open_page: Open, tiny_store: str, search: SlowSearch) -> Iterator[Page]:
    """Page Head while its similar tokens are still searched."""
    with listening(create_app(ServedStore(tiny_store)).server) as address:
        page = open_page(f"{address}/head?layer=1&head=1&token=5")
        drawn(page)
        expect(page.locator(".waiting .skeleton")).to_be_visible()
        yield page
        search.may.set()
        page.goto("about:blank")


def test_nothing_moves_when_a_slow_part_arrives_and_one_that_failed_can_be_tried_again_or_comes_without_a_click(
    page: Page, search: SlowSearch
) -> None:
    page.evaluate(OBSERVE)
    search.may.set()
    expect(page.get_by_role("heading", name=re.compile("Most similar"))).to_be_visible()
    expect(page.locator(".waiting")).to_have_count(0)
    assert page.evaluate("() => window.moved") == 0
    search.refuses = True
    turned_to(page, page.url.replace("token=5", "token=7"))
    expect(page.get_by_role("alert")).to_contain_text(REFUSED)
    search.refuses, search.is_busy = False, True
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("The server is busy. This page asks again by itself.")).to_be_visible()
    search.is_busy = False
    expect(page.locator(".deferred .rows")).to_be_visible()


def test_a_skeleton_is_as_high_as_the_part_in_windows_with_two_columns_with_one_and_as_narrow_as_a_telephone(
    page: Page,
) -> None:
    assert SIMILAR.middle
    for width, height in ((1101, SIMILAR.height), (1100, SIMILAR.middle), (577, SIMILAR.middle), (576, SIMILAR.height)):
        page.set_viewport_size({"width": width, "height": 900})
        expect(page.locator(".deferred")).to_have_css("min-height", f"{height}px")
        expect(page.locator(".deferred .skeleton")).to_have_css("height", f"{height}px")


@pytest.mark.parametrize(
    ("link", "parts"),
    [
        ("head?layer=1&head=0", {"role-evidence", "role-dictionary"}),
        ("relations", {"examples"}),
        ("sentence", {"found"}),
    ],
)
def test_a_part_in_a_window_with_one_column_has_the_room_that_it_needs_and_little_more(
    open_page: Open, roles_server: str, link: str, parts: set[str]
) -> None:
    page = open_page(f"{roles_server}/{link}", motion="reduce")
    for width in (600, 768, 900, 1000):
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        free = page.evaluate(FREE)
        assert {part: room for part, room in free.items() if part in parts and not 0 <= room <= LITTLE} == {}, width
        assert parts <= free.keys()
