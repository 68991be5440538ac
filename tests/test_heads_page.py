"""Page Heads in a browser: a panel for every head, named on hover, opened by click or Enter."""

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from store import Corpus
from tests.browser import Visit, canvas_place, drawn, expect_title, picture, quarters, seen


@pytest.fixture
def page(visit: Visit, tiny_server: str) -> Page:
    return drawn(visit(f"{tiny_server}/heads"))


def test_every_head_has_points_in_its_panel_and_the_picture_says_n_of_n_and_how_faithful_it_is(
    page: Page, tiny_corpus: Corpus
) -> None:
    assert all(np.ptp(panel, axis=(0, 1)).max() > 50 for panel in quarters(picture(page)))
    expect(page.get_by_text(f"all {tiny_corpus.n_tokens:,} tokens.")).to_be_visible()
    expect(page.get_by_text("held-out sentences")).to_be_visible()
    page.mouse.move(*canvas_place(page, 0.75, 0.25))
    expect(page.locator(".points .tip")).to_contain_text(re.compile(r"L0 H1.*attends.*entropy.*rank correlation"))


def test_a_click_or_the_keyboard_opens_a_head(page: Page) -> None:
    page.mouse.click(*canvas_place(page, 0.25, 0.75))
    expect_title(page, "Queries and keys of L1 H0")
    expect(page).to_have_url(re.compile(r"/head\?layer=1&head=0$"))
    page.go_back()
    expect_title(page, "Queries and keys of all 4 heads")
    drawn(page).locator(".frame").focus()
    for key in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.locator(".points .announcement[aria-live]")).to_contain_text("L1 H1")
    page.keyboard.press("Enter")
    expect_title(page, "Queries and keys of L1 H1")


def blue_and_orange(shown: np.ndarray) -> bool:
    blueness = shown[..., 2] - shown[..., 0]
    return bool(blueness.max() > 40 and blueness.min() < -40)


def test_the_theme_switch_repaints_queries_blue_and_keys_orange_in_the_other_colours(
    page: Page,
) -> None:
    before = picture(page)
    assert blue_and_orange(before)
    page.get_by_role("button", name="Switch between light and dark").click()
    seen(page, lambda shown: bool(shown.mean() < before.mean() - 100) and blue_and_orange(shown))
    page.get_by_role("button", name="Switch between light and dark").click()
