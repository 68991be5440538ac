"""Every page in a window of 360 pixels, in a browser: nothing is cut off, a control can be reached."""

import pytest
from playwright.sync_api import Page, expect

from dashboard.compare.two_models import ModelPair
from tests.browser import Open, Visit, until

#: Whether the first control of the page is on top where it stands, once it is scrolled to.
REACHED = """(() => {
  const controls = [...document.querySelectorAll("main :is(input, button, a[href])")];
  const control = controls.find((one) => one.checkVisibility() && one.offsetWidth > 20);
  if (!control) return false;
  control.scrollIntoView({ block: "center" });
  const { left, top, width, height } = control.getBoundingClientRect();
  return control.contains(document.elementFromPoint(left + width / 2, top + height / 2));
})()"""

#: How many elements are narrower than what is in them.
CUT = (
    "(parts) => [...document.querySelectorAll(parts)].filter((part) => part.scrollWidth > part.clientWidth + 1).length"
)


@pytest.mark.parametrize(
    ("path", "whole"),
    [
        pytest.param("/", (), marks=pytest.mark.slow),
        ("/heads?q=film", (".points",)),
        ("/head?token=5&lines=sentence&where=position:1..4;kind:word", ()),
        pytest.param("/statistics", (), marks=pytest.mark.slow),
        ("/features", ()),
        ("/features?point=L00.mixed", (".player output",)),
        ("/sentence?sentence=3&queries=2&by=to_sep", (".tokens .token", ".one-model")),
        pytest.param("/store", (".wide",), marks=pytest.mark.slow),
    ],
)
def test_a_page_can_be_used_in_a_narrow_window_and_nothing_is_cut_off(
    visit: Visit, tiny_server: str, path: str, whole: tuple[str, ...]
) -> None:
    page = visit(tiny_server + path)
    usable(page)
    for parts in whole:
        expect(page.locator(parts).first).to_be_visible()
        until(page, f"({CUT})({parts!r}) === 0")


def test_a_chart_of_heads_takes_the_width_of_a_narrow_window(visit: Visit, tiny_server: str) -> None:
    page = visit(f"{tiny_server}/map")
    usable(page)
    for plot in ("#head-map .nsewdrag", "#matrix .nsewdrag"):
        expect(page.locator(plot)).to_be_visible()
        until(page, f"document.querySelector('{plot}').getBoundingClientRect().width >= 250")


def test_two_models_can_be_compared_in_a_narrow_window(open_page: Open, three_server: str, alike: ModelPair) -> None:
    page = open_page(f"{three_server}/compare?model={alike.own.name}&other={alike.other.name}", width=900)
    expect(page.locator(".rows.changes")).to_be_visible()
    usable(page)


def usable(page: Page) -> None:
    """As narrow as a telephone it needs no scrolling sideways, and what is on it can be clicked."""
    expect(page.locator("#page[data-link] #above h1")).to_be_visible()
    for width in (900, 360):
        page.set_viewport_size({"width": width, "height": 740})
        until(page, "document.documentElement.scrollWidth <= innerWidth")
    until(page, REACHED)
