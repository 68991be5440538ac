"""The keyboard goes from point to point of two models as the pointer does, in a browser."""

import pytest
from playwright.sync_api import Locator, Page, expect

from dashboard.compare.two_models import ModelPair
from tests.browser import Open, drawn


@pytest.fixture
def frame(open_page: Open, three_server: str, alike: ModelPair) -> Locator:
    page = drawn(open_page(f"{three_server}/compare?model={alike.own.name}&other={alike.other.name}"))
    shown = page.locator(".frame")
    shown.focus()
    return shown


def left_of(page: Page, ring: str) -> float:
    """The horizontal place of a ring, from 0 to 1 of the picture."""
    box, canvas = (page.locator(selector).bounding_box() for selector in (ring, ".frame canvas"))
    assert box is not None
    assert canvas is not None
    return (box["x"] - canvas["x"]) / canvas["width"]


def rings(frame: Locator) -> list[float]:
    """Horizontal places of two rings: of the token that the keyboard stands on, and of this token in the other model."""
    expect(frame.locator(".ring.linked")).to_be_visible()
    return [left_of(frame.page, ring) for ring in (".frame .ring:not(.linked)", ".frame .ring.linked")]


@pytest.mark.slow
def test_p_stands_on_a_token_rung_in_both_panels_shift_and_an_arrow_go_on_and_escape_leaves_both(
    frame: Locator,
) -> None:
    frame.press("p")
    own, linked = rings(frame)
    assert own < 0.5 < linked
    announcement = frame.page.locator(".points .announcement[aria-live]")
    expect(announcement).to_contain_text("in sentence")
    first = announcement.inner_text()
    frame.press("Shift+ArrowRight")
    expect(announcement).not_to_have_text(first)
    assert own < left_of(frame.page, ".frame .ring:not(.linked)") < 0.5
    frame.press("ArrowRight")
    expect(frame.locator(".ring.linked")).to_be_hidden()
    frame.press("p")
    own, linked = rings(frame)
    assert linked < 0.5 < own
    frame.press("Escape")
    expect(frame.locator(".ring.linked")).to_be_hidden()
