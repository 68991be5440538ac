"""A reader who is faster than the picture: keys during its motion, links while it loads, a change of the window's size."""

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser import Open, drawn, never_there


def ring(page: Page) -> Locator:
    """The ring of the picture, whose style holds its place in the frame."""
    return page.locator(".points .ring").first


def test_a_key_is_not_lost_to_a_picture_that_moves(open_page: Open, tiny_server: str) -> None:
    page = drawn(open_page(f"{tiny_server}/heads"))
    page.locator(".frame").focus()
    never_there(page)
    page.keyboard.press("Enter")
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile("/head[?]"))


@pytest.mark.slow
def test_in_a_window_of_another_size_the_ring_goes_with_what_it_is_round_and_on_the_way_out_the_link_says_no_place(
    open_page: Open, tiny_server: str
) -> None:
    page = drawn(open_page(f"{tiny_server}/head?layer=1&head=0"))
    ring_goes_along(page)
    page.keyboard.press("Escape")
    routes: list[Route] = []
    page.route("**/grid.bin*", lambda route: routes.append(route))
    page.locator(".frame").press("Backspace")
    expect(page.get_by_role("heading", level=1)).to_contain_text("all 4 heads")
    page.wait_for_timeout(400)
    assert "at=" not in page.url
    for route in routes:
        route.continue_()


def ring_goes_along(page: Page) -> None:
    page.locator(".frame").focus()
    page.keyboard.press("p")
    expect(page.locator(".points .tip")).to_be_visible()
    before = ring(page).get_attribute("style") or ""
    page.set_viewport_size({"width": 1000, "height": 700})
    expect(ring(page)).not_to_have_attribute("style", before)
    drawn(page)
    expect(page.locator(".points .tip")).to_be_visible()
    shown = ring(page).get_attribute("style") or ""
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    expect(page.locator(".points .tip")).to_be_visible()
    expect(ring(page)).to_have_attribute("style", shown)
