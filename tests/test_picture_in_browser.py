"""The picture in a browser: in the plane and in space, into a head and out of it, and as a file."""

import io
import re
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser import Visit, canvas_place, drawn, expect_title, picture, quarters, saved_picture, seen

HEADS = "Queries and keys of all 4 heads"


@pytest.fixture
def heads(visit: Visit, space_server: str) -> Page:
    return drawn(visit(f"{space_server}/heads"))


@pytest.fixture
def head(visit: Visit, space_server: str) -> Page:
    return drawn(visit(f"{space_server}/head?layer=1&head=0"))


@pytest.fixture
def cube(visit: Visit, space_server: str) -> Page:
    """The page of a head in space, not turned yet."""
    return drawn(visit(f"{space_server}/head?layer=1&head=0&view=pca-exact-3d"))


def drag(page: Page, *, keys: str | None = None) -> None:
    page.mouse.move(*canvas_place(page, 0.5, 0.5))
    if keys:
        page.keyboard.down(keys)
    page.mouse.down()
    page.mouse.move(*canvas_place(page, 0.7, 0.6), steps=4)
    page.mouse.up()
    if keys:
        page.keyboard.up(keys)


def test_every_head_has_points_in_space(visit: Visit, space_server: str) -> None:
    page = drawn(visit(f"{space_server}/heads?view=pca-exact-3d"))
    seen(page, lambda shown: all(np.ptp(panel, axis=(0, 1)).max() > 50 for panel in quarters(shown)))


@pytest.mark.slow
def test_dragging_turns_a_head_in_space_and_with_shift_moves_it(cube: Page) -> None:
    before = picture(cube)
    drag(cube)
    expect(cube).to_have_url(re.compile(r"at=0\.5,0\.5,1,-?\d+,-?\d+"))
    seen(cube, lambda shown: bool((shown != before).any(axis=-1).mean() > 0.01))
    cube.locator(".frame").press("0")
    cube.locator(".frame").press("+")
    drag(cube, keys="Shift")
    expect(cube).to_have_url(re.compile(r"at=0\.\d+,0\.\d+,1\.5,30,20"))


def test_points_are_printed(head: Page) -> None:
    head.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    head.emulate_media(media="print")
    printed = np.asarray(Image.open(io.BytesIO(head.locator(".paper").screenshot())).convert("RGB")).astype(int)
    head.emulate_media(media="screen")
    query, key = (np.abs(printed - colour).sum(axis=-1) < 30 for colour in ((0, 114, 178), (213, 94, 0)))
    assert query.any()
    assert key.any()


def test_the_wheel_goes_into_the_head_under_it_and_the_wheel_a_key_or_a_button_back_to_all_heads(heads: Page) -> None:
    heads.mouse.move(*canvas_place(heads, 0.75, 0.25))
    heads.mouse.wheel(0, -200)
    heads.mouse.wheel(0, -400)
    ways: tuple[Callable[[], None], ...] = (
        lambda: heads.mouse.wheel(0, 300),
        lambda: heads.locator(".frame").press("Backspace"),
        lambda: heads.get_by_role("button", name="Zoom out").click(),
    )
    for leave in ways:
        expect_title(heads, "Queries and keys of L0 H1")
        drawn(heads).mouse.move(*canvas_place(heads, 0.5, 0.5))
        leave()
        expect_title(heads, HEADS)
        expect(heads.locator('.frame[data-drawn*="/grid.bin"]')).to_be_visible()
        if leave is not ways[-1]:
            heads.go_back()


def test_the_toolbar_zooms_and_resets_and_the_picture_is_saved_as_png(heads: Page) -> None:
    expect(heads.locator(".frame")).to_have_attribute("data-zoom", "1.00")
    heads.get_by_role("button", name="Zoom in").click()
    expect(heads.locator(".frame")).to_have_attribute("data-zoom", "1.50")
    heads.get_by_role("button", name="Reset").click()
    expect(heads.locator(".frame")).to_have_attribute("data-zoom", "1.00")
    heads.mouse.move(0, 0)
    before = picture(heads)
    saved = np.asarray(Image.open(saved_picture(heads).path()).convert("RGB")).astype(int)
    height, width = before.shape[:2]
    top, left = 26, 34
    assert abs(saved[top : top + height, left : left + width] - before).mean() < 2


def test_a_link_restores_where_one_looked(visit: Visit, space_server: str) -> None:
    for view, at in (("pca-exact-2d", "0.4,0.6,2,0,0"), ("pca-exact-3d", "0.5,0.5,1.5,60,-10")):
        link = f"{space_server}/head?layer=0&head=1&view={view}"
        page = drawn(visit(link))
        plain = picture(page)
        page.goto(f"{link}&at={at}")
        assert (picture(drawn(page)) != plain).any(axis=-1).mean() > 0.01, view
        assert page.evaluate("new URLSearchParams(location.search).get('at')") == at


def test_where_one_looked_stays_behind_in_the_next_head(head: Page) -> None:
    head.locator(".frame").press("+")
    expect(head).to_have_url(re.compile("at="))
    head.locator(".frame").press("ArrowRight")
    expect_title(head, "Queries and keys of L1 H1")
    expect(head.locator(".frame")).to_have_attribute("data-zoom", "1.00")
    expect(head).not_to_have_url(re.compile("at="))
