"""The way of the same tokens through the points of a model, as it is seen frame by frame in a browser."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import Open, drawn, until

Walk = Callable[[str], Page]

#: Counts the frames in which points are on their way.
COUNT = """() => {
  const { ease } = headscape.glide;
  window.eased = 0;
  headscape.glide.ease = (part) => (window.eased++, ease(part));
}"""

#: Notes every point at which the tokens arrive; at the first of them Pause and Play are clicked while they rest.
NOTE = """() => {
  const { frame, button } = { frame: document.querySelector(".frame"), button: document.querySelector(".player button") };
  window.reached = [];
  new MutationObserver(() => {
    window.reached.push(frame.dataset.at.match(/([^/]+)[.]bin/)[1]);
    if (window.reached.length === 1) setTimeout(() => (button.click(), button.click()), 100);
  }).observe(frame, { attributeFilter: ["data-at"] });
}"""


@pytest.fixture
def walk(chromium: Browser, tiny_server: str) -> Iterator[Walk]:
    """A step from the embedding to the position, for a reader who wants motion or not."""
    contexts: list[BrowserContext] = []

    def walk(motion: str) -> Page:
        contexts.append(chromium.new_context(reduced_motion=motion))  # type: ignore[arg-type]
        page = contexts[-1].new_page()
        page.goto(f"{tiny_server}/features?point=embedding")
        drawn(page).evaluate(COUNT)
        page.locator(".frame").press("ArrowRight")
        until(page, "document.querySelector('.frame').dataset.at?.includes('/position.bin')")
        return page

    yield walk
    for context in contexts:
        context.close()


@pytest.mark.parametrize(("motion", "moves"), [("reduce", False), ("no-preference", True)])
def test_who_wants_no_motion_gets_steps(walk: Walk, motion: str, moves: bool) -> None:
    assert walk(motion).evaluate("eased > 0") == moves


def test_pausing_and_playing_on_leaves_no_point_out(open_page: Open, tiny_server: str) -> None:
    page = drawn(open_page(f"{tiny_server}/features?point=L00.feedforward"))
    page.evaluate(NOTE)
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".player output")).to_have_text("L1 feedforward (8 of 8)")
    until(page, "reached.at(-1) === 'L01.feedforward'")
    assert page.evaluate("reached") == ["L01.mixed", "L01.projected", "L01.feedforward"]
