"""A picture that has lost its points to the browser says so, and is not saved without them."""

import pytest
from playwright.sync_api import Download, expect

from tests.browser import Open, changed, drawn, picture, saved_picture, seen

CONTEXT = "document.querySelector('.frame canvas').getContext('webgl2').getExtension('WEBGL_lose_context')"


@pytest.mark.slow
def test_a_picture_without_points_says_so_and_is_not_saved(open_page: Open, tiny_server: str) -> None:
    page = drawn(open_page(f"{tiny_server}/head?layer=1&head=0"))
    saved: list[Download] = []
    page.on("download", lambda file: saved.append(file))
    before, problem = picture(page), page.locator(".points .problem")
    page.evaluate(f"window.taken = {CONTEXT}; taken.loseContext()")
    expect(problem).to_contain_text("The browser has lost the points of this picture")
    for form in ("PNG", "SVG"):
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_role("button", name=f"Save {form}").click()
        expect(page.get_by_role("button", name=f"Save {form}")).to_be_hidden()
    page.evaluate("taken.restoreContext()")
    expect(problem).to_be_empty()
    seen(page, lambda now: changed(before, now) < 0.001)
    assert saved == []
    assert saved_picture(page).suggested_filename.endswith(".png")
