"""The tabs beside the picture of a head: as wide as their reader makes them, or hidden; and the picture on the whole screen."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser import Open, drawn, until

WIDTH = "document.querySelector('#beside').getBoundingClientRect().width"
PICTURE = "document.querySelector('.frame').getBoundingClientRect().width"


@pytest.fixture
def head_page(open_page: Open, tiny_server: str) -> Page:
    return drawn(open_page(f"{tiny_server}/head?layer=1&head=0"))


def test_the_border_is_moved_by_keys_or_dragged_and_its_place_is_remembered(head_page: Page) -> None:
    border = head_page.get_by_role("separator", name="Border of the tabs")
    width, picture = head_page.evaluate(WIDTH), head_page.evaluate(PICTURE)
    border.press("ArrowLeft")
    until(head_page, f"{WIDTH} === {width + 24}")
    until(head_page, f"{PICTURE} === {picture - 24}")
    expect(border).to_have_attribute("aria-valuenow", str(round(width + 24)))
    box = border.bounding_box()
    assert box is not None
    head_page.mouse.move(box["x"] + 6, box["y"] + 200)
    head_page.mouse.down()
    head_page.mouse.move(box["x"] - 94, box["y"] + 200, steps=3)
    head_page.mouse.up()
    until(head_page, f"{WIDTH} === {width + 124}")
    border.press("Home")
    head_page.reload()
    drawn(head_page)
    until(head_page, f"{WIDTH} === 280")


def test_hidden_tabs_stay_hidden_until_they_are_shown_again_and_are_below_the_picture_in_a_narrow_window(
    head_page: Page,
) -> None:
    turn, tab = (
        head_page.get_by_role("button", name="Show or hide the tabs"),
        head_page.get_by_role("tab", name="Statistics"),
    )
    turn.click()
    expect(tab).to_be_hidden()
    head_page.reload()
    drawn(head_page)
    expect(tab).to_be_hidden()
    turn.press("Enter")
    expect(tab).to_be_visible()
    head_page.set_viewport_size({"width": 360, "height": 900})
    expect(head_page.get_by_role("separator")).to_be_hidden()
    until(head_page, "document.documentElement.scrollWidth <= 360")


def test_the_picture_fills_the_screen_and_comes_back(head_page: Page) -> None:
    before = head_page.evaluate(PICTURE)
    full = head_page.get_by_role("button", name="Full screen")
    head_page.bring_to_front()  # Chromium with windows grants the screen to no page behind another
    full.click()
    until(head_page, f"{PICTURE} > {before + 200}")
    expect(full).to_have_attribute("aria-pressed", "true")
    full.click()
    until(head_page, f"{PICTURE} === {before}")
