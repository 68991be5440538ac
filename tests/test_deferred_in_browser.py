"""A slow part of a page in a browser: nothing moves when it arrives, and a failed one can be tried again."""

import re
from collections.abc import Iterator
from threading import Event

import pytest
from playwright.sync_api import Page, expect

from dashboard.app import create_app
from dashboard.points import similar
from dashboard.points.similar import Point
from dashboard.web.errors import NotYet, Refusal
from dashboard.web.served_store import ServedStore
from store import Corpus
from tests.browser import Open, drawn, listening, turned_to

#: Adds up the layout shifts from now on.
OBSERVE = """() => {
  window.moved = 0;
  const add = (list) => list.getEntries().forEach(({ value }) => (window.moved += value));
  new PerformanceObserver(add).observe({ type: "layout-shift" });
}"""
REFUSED = "The server is busy. Try again in a few seconds."


class SlowSearch:
    """Finds similar tokens once it may; at first it refuses where it is to."""

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
    """A page whose similar tokens are not there yet."""
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
