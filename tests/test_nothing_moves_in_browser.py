"""Nothing on a page moves while it loads and while a reader uses it: no element above the fold changes its box."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page

from tests.browser import Open, choose, followed
from tests.fake_sentence import Show, token
from tests.standing import settled, shifted, standing

#: Each page and the kinds of its marks: a pointer is moved to one of each kind.
HOVERED = {
    "": (".card a", ".label-table a", ".layer-bars .part", ".findings a", ".info"),
    "heads": (".frame", ".tools button", ".legend .chip", ".info"),
    "head?layer=1&head=0": (".frame", ".tools button", ".neighbours a", ".info", ".saves button"),
    "head?layer=1&head=0&token=3&colour=kind&where=position:1..7": (".piece", ".legend button", ".filter", ".info"),
    "statistics?where=position:2..7": (".filter", ".nsewdrag", ".saves button", ".info"),
    "map": (".nsewdrag", ".saves button", ".info"),
    "relations": (".nsewdrag", ".rows a", ".info"),
    "features": (".frame", ".tools button", ".info"),
    "features?point=embedding": (".frame", ".legend .chip", ".info"),
    "sentence": (".head-view .query .token", ".head-view .key .token", ".swatches .head", ".info"),
    "sentence?show=model": (".model-view canvas", ".info"),
    "sentence?show=matrix": (".matrix-view canvas", ".info"),
    "sentence?show=neuron&queries=2": (".neuron-queries .token", ".strip", ".neurons tr"),
    "compare": (".nsewdrag", ".frame", ".rows a", ".info"),
    "store": (".info", ".rows a"),
    "notes": (".info", "a.plain"),
    "server": (".info", ".rows tr"),
}
#: The marks that a click selects, each clicked twice: the second click takes the selection back, or makes another.
CLICKED = {
    "head?layer=1&head=0": (".frame",),
    "head?layer=1&head=0&token=3&colour=kind&where=position:1..7": (".legend button",),
    "map": (".nsewdrag",),
    "features?point=embedding": (".frame",),
    "sentence": (".head-view .query .token", ".head-view .key .token"),
    "sentence?show=matrix": (".matrix-view canvas",),
    "sentence?show=neuron&queries=2": (".neuron-queries .token",),
}
#: The servers of pages that need more than pictures: words, a second model.
SERVERS = {"relations": "bank_server", "compare": "three_server"}
#: A search that matches, one that does not, and none again; on pages whose search has places of its own.
SOUGHT = ("film", "platypus", "")
SEARCHED = ("heads", "head?layer=1&head=0", "features")
#: A filter that is added to each of these.
FILTERED = {
    "heads": "position",
    "head?layer=1&head=0": "position",
    "statistics?where=position:2..7": "token type",
}
WIDE, NARROW = 1440, 390
#: In a narrow window: of each arrangement of the parts of a page one.
NARROW_PATHS = ("head?layer=1&head=0", "statistics?where=position:2..7", "features", "sentence")
EVERY = [(path, WIDE) for path in HOVERED] + [
    pytest.param(path, NARROW, marks=pytest.mark.slow) for path in NARROW_PATHS
]


def middle(mark: Locator) -> tuple[float, float]:
    box = mark.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def marks(page: Page, kinds: tuple[str, ...]) -> list[tuple[str, tuple[float, float]]]:
    """The places of the marks that are to be seen, one of each kind."""
    height = page.viewport_size["height"] if page.viewport_size else 0
    first = [(kind, page.locator(f"{kind}:visible").first) for kind in kinds]
    places = [(kind, middle(mark)) for kind, mark in first if mark.count()]
    return [(kind, place) for kind, place in places if place[1] < height]


@pytest.fixture
def server_of(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """The address of a server that has what a page shows."""
    return lambda path: request.getfixturevalue(SERVERS.get(path, "tiny_server"))


@pytest.mark.parametrize(("path", "width"), EVERY)
def test_nothing_moves(open_page: Open, server_of: Callable[[str], str], path: str, width: int) -> None:
    page = open_page(f"{server_of(path)}/{path}", motion="reduce", width=width)
    settled(page)
    assert shifted(page) == [], "loading"
    for kind, place in marks(page, HOVERED[path]):
        with standing(page, f"hovering {kind}"):
            page.mouse.move(*place, steps=2)
    if width < WIDE:
        return
    for kind, place in 2 * marks(page, CLICKED.get(path, ())):
        page.mouse.move(*place)
        with standing(page, f"clicking {kind}"):
            page.mouse.click(*place)
    box = page.get_by_role("textbox", name="Search", exact=True)
    for text in SOUGHT if path in SEARCHED else ():
        box.fill(text)
        with standing(page, f"searching “{text}”"):
            box.press("Enter")
    if path in FILTERED:
        with standing(page, "adding a filter"):
            choose(page, "Filter", FILTERED[path])


def test_a_key_that_gets_no_large_weight_leaves_the_head_view_where_it_is(show: Show) -> None:
    """A remark above the lines once moved the key away from the pointer, which ended the hover, which took the remark back."""
    for width in (NARROW, WIDE):
        page = show(least=0.99)
        page.set_viewport_size({"width": width, "height": 900})
        with standing(page, "hovering a key without a line"):
            token(page, "key", 4).hover()
        assert "No weight is 0.99 or more here" in page.locator(".sentence-views .note").inner_text()


def test_a_shorter_tab_leaves_the_window_scrolled_as_it_is(open_page: Open, tiny_server: str) -> None:
    page = open_page(f"{tiny_server}/head?layer=1&head=0&tab=statistics", motion="reduce", width=390)
    settled(page)
    tabs = page.get_by_role("tablist")
    tabs.evaluate("(list) => scrollTo(0, list.getBoundingClientRect().top + scrollY - 64)")
    settled(page)
    before = tabs.bounding_box()
    with followed(page):
        page.get_by_role("tab", name="Notes").click()
    settled(page)
    assert tabs.bounding_box() == before
