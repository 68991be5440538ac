"""A page waits for a count: its progress, Cancel, and the end of a count that nobody waits for any more."""

import re
from collections.abc import Iterator
from threading import Event

import pytest
from playwright.sync_api import Page, expect

from dashboard.app import create_app
from dashboard.statistics import parts as part_counts
from dashboard.statistics.parts import Part, PartCounts
from dashboard.web.errors import Refusal
from dashboard.web.served_store import ServedStore
from store import STATISTICS, Corpus
from store.means import Watch
from tests.browser import Open, choose, listening, turned_to

SECONDS = 0.02


class SlowCount:
    """A count in small steps until `over` is set; `ended` is set when a reader ends it."""

    def __init__(self) -> None:
        self.ended = Event()
        self.over = Event()

    def __call__(self, corpus: Corpus, _part: Part, watch: Watch) -> part_counts.PartNumbers:
        try:
            while not self.over.wait(SECONDS):
                watch(0.5)
        except Refusal:
            self.ended.set()
            raise
        return part_counts._numbers_of_corpus(corpus)


@pytest.fixture
def slow() -> SlowCount:
    return SlowCount()


@pytest.fixture
def counting(open_page: Open, tiny_store: str, slow: SlowCount) -> Iterator[Page]:
    """Page Statistics of a part that is being counted."""
    served_store = ServedStore(tiny_store)
    served_store.put(PartCounts, PartCounts(served_store.folder, read=slow))
    with listening(create_app(served_store).server) as address:
        page = open_page(f"{address}/statistics?where=position:2..7")
        expect(page.locator(".job")).to_contain_text(re.compile(r"Counting [\d,]+ tokens: \d+%, about \d+ s left"))
        yield page
        slow.over.set()
        page.goto("about:blank")


@pytest.mark.slow
def test_a_count_ends_when_cancelled_or_when_its_filter_is_removed_and_goes_on_where_another_statistic_is_chosen(
    counting: Page, slow: SlowCount
) -> None:
    link = counting.url
    counting.get_by_role("button", name="Cancel").click()
    expect(counting.get_by_role("alert")).to_contain_text("Counting was cancelled.")
    assert slow.ended.is_set()
    counts_another(counting, slow, link.replace("2..7", "2..6"))
    counting.get_by_role("button", name=re.compile("Remove filter")).click()
    expect(counting.locator("#heat-map")).to_be_visible()
    assert slow.ended.wait(20)
    counts_another(counting, slow, link.replace("2..7", "2..5"))
    choose(counting, "Statistic", STATISTICS["entropy"].title)
    counting.wait_for_timeout(500)  # as long as the end of a count would take
    assert not slow.ended.is_set()


def counts_another(page: Page, slow: SlowCount, link: str) -> None:
    """The page of another part counts it from the beginning."""
    slow.ended.clear()
    turned_to(page, link)
    expect(page.locator(".job")).to_contain_text("Counting")
