"""Two heads side by side in a browser: a token under the pointer, or clicked, is marked in both."""

import re

from playwright.sync_api import expect

from tests.browser import Open, canvas_place, drawn

#: Place in the frame (0..1 from the upper left) of point 1 of the second head, the first token's key.
POINT = """(async () => {
  const { decodePoints } = await import("/assets/canvas/painter.mjs");
  const source = document.querySelector(".frame").dataset.drawn;
  const { places, most, tokens } = decodePoints(await (await fetch(source)).arrayBuffer());
  const { left, top, width, height } = document.querySelector(".frame canvas").getBoundingClientRect();
  const [side, title] = [(width - 4) / 2, 17];
  const [x, y] = [0, 1].map((axis) => places[4 * tokens + 2 + axis] / most);
  return [(side + 4 + 1.5 + x * (side - 3)) / width, (title + 1.5 + (1 - y) * (side - 3)) / height];
})()"""


def test_a_click_in_one_head_marks_the_token_in_both_and_arrow_keys_open_the_neighbour_beside_the_pinned_head(
    open_page: Open, tiny_server: str
) -> None:
    page = drawn(open_page(f"{tiny_server}/head?layer=1&head=0&pinned=0-1&tokens=60"))
    page.mouse.click(*canvas_place(page, *page.evaluate(POINT)))
    expect(page).to_have_url(re.compile("role=key"))
    expect(page.locator(".frame .ring.linked")).to_be_visible()
    expect(page.locator('.frame[data-overlay*="/1/0/key/"]')).to_be_visible()
    assert "pinned=0-1" in page.url
    for _ in range(2):
        page.keyboard.press("Escape")
    page.locator(".frame").press("ArrowRight")
    expect(page.get_by_role("heading", level=1)).to_have_text("Queries and keys of L1 H1 and L0 H1")
    expect(page.locator(".panel-names > div")).to_have_text(["L1 H1", "L0 H1pinned"])
