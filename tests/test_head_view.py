"""The lines of a layer in a browser, on known weights: drawing, words for screen readers, and messages."""

import numpy as np
from playwright.sync_api import Page, expect

from tests.fake_sentence import HEADS, LEAST, NAMES, ROOT, Show, lines, sent, stored, token


def inked(page: Page, selector: str) -> int:
    """The number of pixels of a canvas that are drawn on."""
    return int(
        page.locator(selector).evaluate("""(canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, i) => i % 4 === 3 && value > 0).length;
    }""")
    )


def test_every_weight_of_a_chosen_head_that_is_large_enough_is_a_line(show: Show) -> None:
    for least in (0.0, 0.5):
        page = show(least=least)
        lines(page, int((stored() >= max(least, 1 / 65535)).sum()))
        assert inked(page, ".head-view canvas") > 500
    lines(show(chosen=[1]), int((stored()[1] >= LEAST).sum()))


def test_hovering_over_a_token_leaves_its_lines_and_says_its_weights(show: Show) -> None:
    page = show()
    token(page, "query", 3).hover()
    lines(page, int((stored()[:, 3] >= LEAST).sum()))
    token(page, "key", 5).hover()
    lines(page, int((stored()[:, :, 5] >= LEAST).sum()))
    token(page, "query", 2).hover()
    row = page.locator(".tip tr").nth(1)
    expect(row).to_contain_text(NAMES[stored()[1, 2].argmax()])
    expect(row).to_contain_text(f"{stored()[1, 2].max():.2%}")
    page.mouse.move(5, 5)
    lines(page, int((stored() >= LEAST).sum()))
    page = show(queries=[2, 4])
    token(page, "key", 1).hover()
    for head in range(HEADS):
        expect(page.locator(".tip")).to_contain_text(f"{stored()[head, [2, 4], 1].sum():.2%}")


def test_wordpieces_are_text_and_never_markup_and_a_second_sentence_stands_apart(show: Show) -> None:
    page = show()
    expect(token(page, "query", 2)).to_have_text("<b>cat</b>")
    token(page, "query", 2).hover()
    expect(page.locator(".tip b, .token b")).to_have_count(0)
    tops = [token(page, "query", unit).bounding_box()["y"] for unit in (4, 5, 6)]  # type: ignore[index]
    assert tops[2] - tops[1] > tops[1] - tops[0]


def test_a_click_selects_shift_adds_and_a_click_in_the_other_column_selects_there_alone(show: Show) -> None:
    page = show()
    token(page, "query", 3).click()
    sent(page, "selected", {"side": "query", "units": [3]})
    token(page, "query", 1).click(modifiers=["Shift"])
    sent(page, "selected", {"side": "query", "units": [1, 3]})
    page.mouse.move(5, 5)
    lines(page, int((stored()[:, [1, 3]] >= LEAST).sum()))
    token(page, "key", 6).click()
    sent(page, "selected", {"side": "key", "units": [6]})
    expect(token(page, "query", 1)).to_have_attribute("aria-pressed", "false")


def place_on_line(page: Page, query: int, key: int, share: float = 0.25) -> tuple[float, float]:
    """A point of the window on the line from a query to a key, by its share of the length: lines may cross in the middle."""
    start, end = (token(page, side, unit).bounding_box() for side, unit in (("query", query), ("key", key)))
    assert start
    assert end
    left, right = start["x"] + start["width"], end["x"]
    return left + share * (right - left), start["y"] + start["height"] / 2 + share * (end["y"] - start["y"])


def test_a_line_says_its_weights_and_a_click_near_it_selects_its_query_and_key_until_the_next(show: Show) -> None:
    query, key = map(int, np.unravel_index(stored()[1].argmax(), stored()[1].shape))
    page = show(chosen=[1], least=0.9 * stored()[1].max())
    x, y = place_on_line(page, query, key)
    page.mouse.move(x, y)
    expect(page.locator(".tip")).to_contain_text(f"L0 H1{stored()[1, query, key]:.2%}")
    page.mouse.click(x, y + 3)
    sent(page, "paired", {"query": query, "toward": key})
    for side, unit in (("query", query), ("key", key)):
        expect(token(page, side, unit)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".marks .edge")).to_have_count(1)
    page.mouse.click(x, y + 3)
    sent(page, "paired", {"query": None, "toward": None})
    page.mouse.move(5, 5)
    expect(page.locator(".marks .edge")).to_have_count(0)


def test_pairs_are_marked_in_colours_by_shift_and_by_m_and_taken_away_in_the_legend(show: Show) -> None:
    page = show(queries=[2])
    token(page, "key", 4).click(modifiers=["Shift"])
    sent(page, "marked", {"pairs": [[2, 4]]})
    token(page, "key", 1).focus()
    page.keyboard.press("m")
    sent(page, "marked", {"pairs": [[2, 4], [2, 1]]})
    page.mouse.move(5, 5)
    edges = page.locator(".marks .edge")
    colours = edges.evaluate_all("lines => lines.map((line) => getComputedStyle(line).stroke)")
    assert colours == ["rgb(0, 114, 178)", "rgb(213, 94, 0)"]
    expect(page.locator(".marked-pairs .chip")).to_contain_text(["1<b>cat</b> → 👩‍🚀", "2<b>cat</b> → the"])
    page.get_by_role("button", name="Remove the mark of <b>cat</b> to 👩‍🚀").click()
    sent(page, "marked", {"pairs": [[2, 1]]})
    expect(edges).to_have_count(1)


def test_enter_on_a_key_selects_it_with_the_selected_query_and_escape_clears_both(show: Show) -> None:
    page = show(queries=[2])
    token(page, "key", 4).focus()
    page.keyboard.press("Enter")
    sent(page, "paired", {"query": 2, "toward": 4})
    page.keyboard.press("Escape")
    sent(page, "paired", {"query": None, "toward": None})


def test_a_finger_on_a_key_selects_it_with_the_selected_query_and_the_button_marks_the_pair(show: Show) -> None:
    page = show(queries=[2])
    none = page.locator(".marked-pairs .none")
    assert none.inner_text().endswith("then hold Shift and click one on the right.")
    expect(none.locator(".by-touch")).to_have_text(
        "No pair is marked. Tap a token on the left and one on the right, then Mark pair."
    )
    tap = "(key) => key.dispatchEvent(new PointerEvent('click', { bubbles: true, pointerType: 'touch' }))"
    token(page, "key", 4).evaluate(tap)
    sent(page, "paired", {"query": 2, "toward": 4})
    page.get_by_role("button", name="Mark pair").click()
    sent(page, "marked", {"pairs": [[2, 4]]})


def test_arrow_keys_reach_every_token_enter_selects_and_escape_leaves(show: Show) -> None:
    page = show()
    token(page, "query", 0).focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    expect(token(page, "key", 1)).to_be_focused()
    lines(page, int((stored()[:, :, 1] >= LEAST).sum()))
    page.keyboard.press("Enter")
    sent(page, "selected", {"side": "key", "units": [1]})
    page.keyboard.press("Escape")
    sent(page, "paired", {"query": None, "toward": None})


def test_brackets_step_through_the_layers_also_from_one_that_is_not_drawn_yet(show: Show) -> None:
    page = show()
    token(page, "query", 0).focus()
    page.keyboard.press("[")
    sent(page, "stepped", {"layer": -1, "count": 1})
    page.keyboard.press("]")
    sent(page, "stepped", {"layer": 1, "count": 2})


def test_swatches_take_heads_out_show_one_alone_and_never_none(show: Show) -> None:
    page = show()
    swatch = page.get_by_role("checkbox", name="Head 1")
    swatch.click()
    expect(swatch).to_have_attribute("aria-checked", "false")
    sent(page, "headed", {"heads": [0, 2]})
    lines(page, int((stored()[[0, 2]] >= LEAST).sum()))
    page.get_by_role("checkbox", name="Head 2").focus()
    page.keyboard.press("Shift+Enter")
    sent(page, "headed", {"heads": [2]})
    page.get_by_role("checkbox", name="Head 2").click()
    expect(page.locator(f"{ROOT} .announcement")).to_have_text("The last head stays on.")
    lines(page, int((stored()[2] >= LEAST).sum()))


def test_a_double_click_shows_a_head_alone_and_another_all(show: Show) -> None:
    page = show()
    swatch = page.get_by_role("checkbox", name="Head 1")
    swatch.dblclick()
    sent(page, "headed", {"heads": [1]})
    page.wait_for_timeout(600)
    swatch.dblclick()
    sent(page, "headed", {"heads": [0, 1, 2]})


def test_a_double_click_or_h_on_a_token_hides_it(show: Show) -> None:
    page = show()
    token(page, "query", 3).dblclick()
    sent(page, "hidden", {"positions": [3]})
    token(page, "key", 5).focus()
    page.keyboard.press("h")
    sent(page, "hidden", {"positions": [5]})
