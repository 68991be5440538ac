"""Nothing on a page moves while a reader hovers and clicks its marks: no element above the fold changes its box."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page

from tests.browser import Open
from tests.fake_sentence import Show, token
from tests.standing import settled, standing

#: Each page and the kinds of its marks: a pointer is moved to one of each kind.
HOVERED = {
    "": (".card a", ".label-table a", ".layer-bars .part", ".info"),
    "heads": (".frame", ".tools button", ".info"),
    "head?layer=1&head=0": (".frame", ".tools button", ".info", ".saves button"),
    "statistics": (".nsewdrag", ".saves button", ".info"),
    "map": (".nsewdrag", ".info"),
    "relations": (".nsewdrag", ".rows a", ".info"),
    "features": (".frame", ".tools button", ".info"),
    "features?point=embedding": (".frame", ".info"),
    "sentence": (".head-view .query .token", ".head-view .key .token", ".swatches .head", ".info"),
    "sentence?show=model": (".model-view canvas", ".info"),
    "sentence?show=matrix": (".matrix-view canvas", ".info"),
    "sentence?show=neuron&queries=2": (".neuron-queries .token", ".strip", ".neurons tr"),
    "sentence?show=positions": (".nsewdrag",),
    "sentence?show=mixing": (".nsewdrag", ".info"),
    "store": (".info", ".rows a"),
    "notes": (".info", "a.plain"),
}
#: The marks that a click selects, each clicked twice: the second click takes the selection back, or makes another.
CLICKED = {
    "head?layer=1&head=0": (".frame",),
    "map": (".nsewdrag",),
    "features?point=embedding": (".frame",),
    "sentence": (".head-view .query .token", ".head-view .key .token"),
    "sentence?show=matrix": (".matrix-view canvas",),
    "sentence?show=neuron&queries=2": (".neuron-queries .token",),
}
#: A search that matches, one that does not, and none again.
SOUGHT = ("film", "platypus", "")


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
    """The address of a server: that of relations needs words."""
    return lambda path: request.getfixturevalue("bank_server" if path == "relations" else "tiny_server")


@pytest.mark.parametrize("path", HOVERED)
def test_nothing_moves(open_page: Open, server_of: Callable[[str], str], path: str) -> None:
    page = open_page(f"{server_of(path)}/{path}", motion="reduce")
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        for kind, place in marks(page, HOVERED[path]):
            with standing(page, f"hovering {kind} at {width} pixels"):
                page.mouse.move(*place, steps=2)
    for kind, place in 2 * marks(page, CLICKED.get(path, ())):
        page.mouse.move(*place)
        with standing(page, f"clicking {kind}"):
            page.mouse.click(*place)
    box = page.get_by_role("textbox", name="Search", exact=True)
    for text in SOUGHT if box.count() else ():
        box.fill(text)
        with standing(page, f"searching “{text}”"):
            box.press("Enter")


@pytest.mark.parametrize("width", [1440, 390])
def test_a_key_that_gets_no_large_weight_leaves_the_head_view_where_it_is(show: Show, width: int) -> None:
    """A remark above the lines once moved the key away from the pointer, which ended the hover, which took the remark back."""
    page = show(least=0.99)
    page.set_viewport_size({"width": width, "height": 900})
    with standing(page, "hovering a key without a line"):
        token(page, "key", 4).hover()
    assert "No weight is 0.99 or more here" in page.locator(".sentence-views .note").inner_text()
