"""Page Heads in a browser: a panel for every head, named on hover, opened by click or Enter."""

import re

import numpy as np
from playwright.sync_api import expect

from store import Corpus
from tests.browser import Open, Visit, canvas_place, drawn, picture, seen


def test_every_head_has_points_in_its_panel(visit: Visit, tiny_server: str, tiny_corpus: Corpus) -> None:
    page = drawn(visit(f"{tiny_server}/heads"))
    shown = picture(page)
    for layer in range(tiny_corpus.layers):
        for head in range(tiny_corpus.heads):
            rows, columns = (size // 2 for size in shown.shape[:2])
            panel = shown[layer * rows : (layer + 1) * rows, head * columns : (head + 1) * columns]
            assert np.ptp(panel, axis=(0, 1)).max() > 50


def blue_and_orange(shown: np.ndarray) -> bool:
    blueness = shown[..., 2] - shown[..., 0]
    return bool(blueness.max() > 40 and blueness.min() < -40)


def test_hover_names_the_head_and_what_it_does(visit: Visit, tiny_server: str) -> None:
    page = drawn(visit(f"{tiny_server}/heads"))
    page.mouse.move(*canvas_place(page, 0.75, 0.25))
    expect(page.locator(".points .tip")).to_contain_text(re.compile(r"L0 H1.*attends.*entropy.*Spearman"))


def test_a_click_opens_the_head(visit: Visit, tiny_server: str) -> None:
    page = drawn(visit(f"{tiny_server}/heads"))
    page.mouse.click(*canvas_place(page, 0.25, 0.75))
    expect(page.get_by_role("heading", level=1)).to_have_text("Queries and keys of L1 H0")
    expect(page).to_have_url(re.compile(r"/head\?layer=1&head=0$"))


def test_the_keyboard_reaches_and_opens_a_head(visit: Visit, tiny_server: str) -> None:
    page = drawn(visit(f"{tiny_server}/heads"))
    page.locator(".frame").focus()
    for key in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.locator(".points .announcement[aria-live]")).to_contain_text("L1 H1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Queries and keys of L1 H1")


def test_the_picture_says_n_of_n_and_how_faithful_it_is(visit: Visit, tiny_server: str, tiny_corpus: Corpus) -> None:
    page = drawn(visit(f"{tiny_server}/heads"))
    expect(page.get_by_text(f"all {tiny_corpus.n_tokens:,} tokens.")).to_be_visible()
    expect(page.get_by_text("held-out sentences")).to_be_visible()


def test_the_theme_switch_repaints_queries_blue_and_keys_orange_in_the_other_colours(
    open_page: Open, tiny_server: str
) -> None:
    page = drawn(open_page(f"{tiny_server}/heads"))
    before = picture(page)
    assert blue_and_orange(before)
    page.get_by_role("button", name="Switch between light and dark").click()
    seen(page, lambda shown: bool(shown.mean() < before.mean() - 100) and blue_and_orange(shown))


def test_a_narrow_window_shows_every_panel(open_page: Open, tiny_server: str) -> None:
    page = drawn(open_page(f"{tiny_server}/heads", width=900))
    assert page.evaluate("document.documentElement.scrollWidth") <= 900
