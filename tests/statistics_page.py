"""The pages with numbers of all heads in a browser: helpers that tests of their charts share."""

import re
from collections.abc import Callable
from contextlib import suppress

from playwright.sync_api import FloatRect, Locator, Page, expect

from tests.browser import Open

HEAT_MAP = "#heat-map"
#: A pattern of the link of a head.
OPENED = r"/head\?"


def statistics_page(open_page: Open, server: str, query: str = "", scheme: str = "light") -> Page:
    """The page Statistics, once its heat map is drawn."""
    return charted(open_page(f"{server}/statistics{query}", scheme=scheme))


def charted(page: Page) -> Page:
    """The page once its charts have their size."""
    expect(page.locator(f"{HEAT_MAP} .heatmaplayer image")).to_be_visible()
    settled(page)
    return page


def settled(page: Page) -> None:
    """Wait until charts have their final size, which each gets shortly after it is first drawn."""
    expect(page.locator(".dash-graph--pending")).to_have_count(0)


def cells(page: Page, figure: str = HEAT_MAP) -> Locator:
    """The numbers in the cells of a heat map."""
    return page.locator(f"{figure} .heatmap-label text")


def click_cell(page: Page, layer: int, head: int, shape: tuple[int, int], figure: str = HEAT_MAP) -> None:
    """Click the middle of a cell; it opens a head."""
    _until_opened(page, lambda: _click_cell(page, layer, head, shape, figure))


def _click_cell(page: Page, layer: int, head: int, shape: tuple[int, int], figure: str) -> None:
    box = _box(page.locator(f"{figure} .heatmaplayer image"))
    across, down = ((place + 0.5) / count for place, count in zip((head, layer), shape[::-1], strict=True))
    page.mouse.move(box["x"] + across * box["width"] - 3, box["y"] + down * box["height"])
    page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
    expect(page.locator(f"{figure} .hovertext")).to_be_visible()
    page.mouse.click(box["x"] + across * box["width"], box["y"] + down * box["height"])


def click_dot(page: Page, figure: str, number: int, text: str, leads: str = OPENED) -> None:
    """Click the dot with this hover text; the dot `leads` to a link, by default the link of a head."""

    def click() -> None:
        expect(hover_dot(page, figure, number)).to_contain_text(text)
        page.mouse.down()
        page.mouse.up()

    _until_opened(page, click, leads)


def _until_opened(page: Page, click: Callable[[], None], leads: str = OPENED) -> None:
    """Click until the link opens: a chart hears no click while it is laid out again."""
    for _ in range(3):
        with suppress(AssertionError):
            click()
            expect(page).to_have_url(re.compile(leads), timeout=4000)
            return


def hover_dot(page: Page, figure: str, number: int) -> Locator:
    """Point at a dot of a chart; returns its hover text."""
    dot = page.locator(f"{figure} .scatterlayer .points path").nth(number)
    page.mouse.move(0, 0)
    expect(page.locator(f"{figure} .hovertext")).to_have_count(0)
    box = _box(dot)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 1, y)
    page.mouse.move(x, y)
    return page.locator(f"{figure} .hovertext")


def _box(shown: Locator) -> FloatRect:
    """The box of an element in the window, once it is scrolled there and its charts are settled."""
    shown.scroll_into_view_if_needed()
    settled(shown.page)
    box = shown.bounding_box()
    assert box is not None
    return box


def has_head(page: Page, layer: int, head: int) -> None:
    """Wait until the page of a head is shown."""
    expect(page).to_have_url(re.compile(rf"/head\?.*layer={layer}.*head={head}"))
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Queries and keys of L{layer} H{head}")
