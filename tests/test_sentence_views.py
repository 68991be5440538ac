"""The views of a sentence in a browser, on known weights: the common parts of all views, and the views without lines."""

import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.accessibility import OF_COLOURS, serious
from tests.browser import Open
from tests.fake_sentence import LEAST, ROOT, Show, lines, neuron, sent, stored, token


def test_an_empty_view_says_what_to_do(empty: Callable[[str], Page]) -> None:
    notes: list[tuple[dict[str, object], str]] = [
        ({"chosen": []}, "No head is chosen. Click a head's colour above to see its lines."),
        ({"least": 1}, "No weight is 1 or more here. Lower the minimum weight, or choose more heads."),
        ({"show": "neuron"}, "No query is chosen. Click a token below to see how its weights come about."),
    ]
    for fields, note in notes:
        page = empty("light")
        page.evaluate("fields => { location.hash = fields; }", quote(json.dumps(fields)))
        expect(page.locator(".note")).to_have_text(note)


def test_a_failed_request_gets_a_message_of_one_sentence(fake_server: str, open_failing: Open) -> None:
    page = open_failing(f"{fake_server}/#{quote(json.dumps({'layer': 7}))}")
    expect(page.get_by_role("alert")).to_have_text("There is no such layer. Choose one of the list.")
    expect(page.locator(ROOT)).to_have_attribute("data-drawn", "")


def test_a_thumbnail_opens_its_head_by_click_and_by_arrow_keys(show: Show) -> None:
    page = show(show="model", head=0)
    canvas = page.locator(".model-view canvas")
    canvas.click(position={"x": 34 + 100 + 50, "y": 22 + 100 + 50})
    expect(page.locator(".tip")).to_have_text("L1 H1")
    sent(page, "opened", {"layer": 1, "head": 1})
    page = show(show="model", head=0)
    page.locator(".model-view").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    sent(page, "opened", {"layer": 1, "head": 2})


def test_a_cell_of_the_heat_map_says_its_weight_and_selects_its_query_and_key(show: Show) -> None:
    page = show(show="matrix")
    frame = page.locator(".matrix-view")
    frame.focus()
    for key in ("ArrowDown", "Enter"):
        frame.press(key)
    sent(page, "paired", {"query": 1, "toward": 0})
    frame.press("Escape")
    sent(page, "paired", {"query": None, "toward": None})
    for key in ("ArrowDown", "ArrowRight"):
        frame.press(key)
    expect(page.locator(".tip")).to_have_text(f"<b>cat</b> → the{stored()[1, 2, 1]:.2%}")
    box = page.locator(".matrix-view .ring").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 1.5 * box["width"], box["y"] + box["height"] / 2)
    expect(page.locator(".tip")).to_contain_text(f"{stored()[1, 2, 2]:.2%}")
    page.mouse.click(box["x"] + 1.5 * box["width"], box["y"] + box["height"] / 2)
    sent(page, "paired", {"query": 2, "toward": 2})


def test_a_cell_of_the_heat_map_is_marked_in_a_frame_and_its_number(show: Show) -> None:
    page = show(show="matrix")
    page.locator(".matrix-view").focus()
    for key in ("ArrowRight", "ArrowDown", "m"):
        page.keyboard.press(key)
    sent(page, "marked", {"pairs": [[1, 1]]})
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Mark pair")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Mark pair").click()
    sent(page, "marked", {"pairs": []})


def test_the_legend_of_the_heat_map_says_its_scale(show: Show) -> None:
    largest = stored()[1].max()
    marks = {
        "root": "00.10.250.51",
        "largest": f"0{float(f'{largest / 2:.2g}'):g}{float(f'{largest:.2g}'):g}",
        "row": "0largest of its row",
        "log": "≤ 0.0010.010.11",
    }
    for kind, wanted in marks.items():
        expect(show(show="matrix", scale=kind).locator(".legend .ticks")).to_have_text(wanted)


def test_a_double_click_or_h_on_a_token_of_the_heat_map_hides_it(show: Show) -> None:
    page = show(show="matrix")
    frame = page.locator(".matrix-view")
    frame.focus()
    for key in ("ArrowDown", "ArrowDown", "h"):
        frame.press(key)
    sent(page, "hidden", {"positions": [2]})
    frame.press("ArrowDown")
    box = page.locator(".matrix-view .ring").bounding_box()
    assert box is not None
    page.mouse.dblclick(box["x"] - 10, box["y"] + box["height"] / 2)
    sent(page, "hidden", {"positions": [3]})


def test_channels_show_how_a_weight_comes_about_and_keep_their_query_in_sight(show: Show) -> None:
    page = show(show="neuron", queries=[4], head=2)
    wanted = neuron(4)["keys"]
    for row, key in zip(page.locator(".neurons tbody tr[data-key]").all(), wanted, strict=True):  # type: ignore[call-overload]
        numbers = [text.replace("\u2212", "-") for text in row.locator(".number").all_inner_texts()]
        assert [float(number) for number in numbers[:2]] == pytest.approx([key["dot"], key["logit"]], abs=6e-4)
        assert numbers[2] == f"{key['weight']:.2%}"
    expect(token(page, "query", 4)).to_have_attribute("aria-pressed", "true")
    expect(token(page, "query", 4)).to_be_in_viewport()
    page.locator('tr[data-key="2"] .strip[data-kind="product"]').hover(position={"x": 1, "y": 5})
    expect(page.locator(".tip")).to_have_text("channel 0q 0.100k \u22120.700q \u00d7 k \u22120.070")
    token(page, "query", 1).click()
    sent(page, "selected", {"side": "query", "units": [1]})


@pytest.mark.parametrize("kind", ["head", "model", "matrix", "neuron"])
def test_every_view_is_accessible(show: Show, kind: str) -> None:
    fields = {"show": kind, "queries": [2], "chosen": [0, 2]}
    assert serious(show("light", **fields)) == []
    assert serious(show("dark", **fields), OF_COLOURS) == []


def test_another_layer_takes_the_place_of_the_one_before(show: Show) -> None:
    page = show()
    page.evaluate("() => (location.hash = encodeURIComponent(JSON.stringify({ layer: 1 })))")
    expect(page.locator(ROOT)).to_have_attribute("data-drawn", "/fake/layer/1.bin")
    lines(page, int((stored(1) >= LEAST).sum()))
