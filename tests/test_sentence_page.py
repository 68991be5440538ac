"""Page Sentence in a browser: every view shows the sentence's own weights, and every choice is in the link."""

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from store import Corpus
from tests.browser import Open, Visit, choose, followed
from tests.sentence_page import ROOT, drawn_weights, has_lines, link_fields, open_controls, pieces, sentence_page, shown

SENTENCE = 3
LAYER = 1


@pytest.fixture
def pattern(tiny_corpus: Corpus) -> np.ndarray:
    """Pattern of the shown sentence: (layer, head, query, key)."""
    return tiny_corpus.pattern(SENTENCE).values


@pytest.fixture
def page(visit: Visit, tiny_server: str) -> Page:
    return sentence_page(visit, tiny_server, sentence=SENTENCE, layer=LAYER)


def turn(page: Page, switch: str) -> None:
    with followed(page):
        page.get_by_role("switch", name=switch, exact=True).click()


def came(page: Page, wanted: str) -> None:
    """Wait until the page shows weights whose address matches `wanted`."""
    expect(page.locator(ROOT)).to_have_attribute("data-drawn", re.compile(wanted))


def test_lines_are_those_of_the_chosen_layer_heads_tokens_and_least_weight(
    page: Page, pattern: np.ndarray, tiny_corpus: Corpus
) -> None:
    names = list(tiny_corpus.wordpieces(tiny_corpus.sentence_rows(SENTENCE)))
    has_lines(page, pattern[LAYER])
    assert (pieces(page, "query"), pieces(page, "key")) == (names, names)
    choose(page, "Layer", "0")
    came(page, r"/layer/0\.bin")
    has_lines(page, pattern[0])
    assert link_fields(page)["layer"] == "0"
    page.go_back()
    has_lines(shown(page), pattern[LAYER])
    page.get_by_role("checkbox", name="Head 1").dblclick()
    expect(page).to_have_url(re.compile(r"heads=1(&|$)"))
    has_lines(page, pattern[LAYER, 1])
    page.locator(".tokens.query .token").nth(2).click()
    expect(page).to_have_url(re.compile(r"queries=2(&|$)"))
    has_lines(page, pattern[LAYER, 1, 2])
    open_controls(page)
    control = page.get_by_role("textbox", name="minimum weight")
    for typed, least in (("0.3", 0.3), ("0,2", 0.2)):
        control.select_text()  # a reader types over it: an empty control gets its default back
        with followed(page):
            page.keyboard.type(typed[0])
        has_lines(page, pattern[LAYER, 1, 2], least=0)  # a slow typist gets an answer in the middle of the number
        page.keyboard.type(typed[1:])
        expect(page).to_have_url(re.compile(rf"least={least}(&|$)"))
        has_lines(page, pattern[LAYER, 1, 2], least=least)


def test_tokens_are_hidden_by_a_double_click_or_a_button_and_shown_again_by_their_names(
    page: Page, pattern: np.ndarray
) -> None:
    open_controls(page)
    page.locator(".tokens.key .token").nth(2).dblclick()
    expect(page).to_have_url(re.compile(r"hide=2(&|$)"))
    page.mouse.move(0, 0)  # the token under the pointer shows its own lines only
    has_lines(page, np.delete(np.delete(pattern[LAYER], 2, axis=1), 2, axis=2))
    page.get_by_role("textbox", name="Hidden tokens").focus()
    page.keyboard.press("Backspace")
    has_lines(page, pattern[LAYER])
    assert "hide" not in link_fields(page)
    with followed(page):
        page.locator(".tokens.query .token").nth(2).click()
    with followed(page):
        page.get_by_role("button", name="Hide selected").click()
    assert link_fields(page)["hide"] == "2"


def test_every_control_of_the_weights_asks_for_its_own(page: Page, pattern: np.ndarray) -> None:
    """The numbers of the server's answers are in `test_pattern.py`."""
    left = pattern[LAYER, :, 1:-1, 1:-1]
    open_controls(page)
    turn(page, "hide special tokens")
    came(page, "special=0")
    has_lines(page, left)
    turn(page, "rescale the rest to 100%")
    came(page, "renormalize=1")
    np.testing.assert_allclose(drawn_weights(page), left / left.sum(axis=-1, keepdims=True), atol=2e-5)
    choose(page, "Weight", "weight x value norm ‖f(x)‖")
    came(page, "weights=norm")
    turn(page, "whole words")
    came(page, "words=1")
    choose(page, "Show", "attention rollout")
    came(page, "rollout=1")
    expect(page.locator(f"{ROOT} .swatches")).to_have_text("attention rollout")


def test_a_thumbnail_of_the_model_view_opens_its_head(page: Page, pattern: np.ndarray) -> None:
    choose(page, "View", "Model view")
    came(page, r"/model\.bin")
    frame = page.locator(".model-view")
    frame.focus()
    for key in ("ArrowRight", "ArrowUp", "ArrowRight", "Enter"):
        frame.press(key)
    expect(page.locator(".head-view")).to_be_visible()
    expect(page.locator(f"{ROOT} .swatches .head").first).to_be_focused()
    has_lines(page, pattern[0, 1])


def test_the_matrix_is_the_pattern_of_a_head_or_the_mean_over_heads(page: Page, pattern: np.ndarray) -> None:
    choose(page, "View", "Matrix view")
    choose(page, "Head", "1")
    expect(page.locator(".matrix-view")).to_have_attribute("aria-label", re.compile("L1 H1"))
    page.locator(".matrix-view").focus()
    page.locator(".matrix-view").press("ArrowRight")
    expect(page.locator(f"{ROOT} .announcement")).to_contain_text(f"weight {pattern[LAYER, 1, 0, 1]:.2%}")
    open_controls(page)
    choose(page, "Matrix of", "mean of heads")
    came(page, r"/matrix\.bin.*mean=heads")


def test_the_neuron_view_starts_from_any_token_and_has_the_weights_of_the_pattern_and_the_ends_of_its_colours(
    page: Page, pattern: np.ndarray, tiny_corpus: Corpus
) -> None:
    choose(page, "View", "Neuron view")
    page.locator(".neuron-queries .token").nth(1).click()
    came(page, rf"/neuron/{LAYER}/0/1\.json")
    weights = [float(text.removesuffix("%")) / 100 for text in page.locator(".neurons td.weight").all_inner_texts()]
    np.testing.assert_allclose(weights, pattern[LAYER, 0, 1], atol=6e-5)
    rows = tiny_corpus.rows[tiny_corpus.sentence_rows(SENTENCE)]
    query, key = (each[LAYER, 0, rows].values.astype(float) for each in (tiny_corpus.query, tiny_corpus.key))
    largest = [float(abs(each).max()) for each in (query[1], key, query[1] * key)]
    ends = re.findall(r"[\d.]+", page.locator(f"{ROOT} .legend .scale-name").inner_text())
    np.testing.assert_allclose(list(map(float, ends)), largest, atol=6e-4)


def test_charts_of_positions_and_of_mixing_say_what_they_are_of(page: Page, tiny_corpus: Corpus) -> None:
    choose(page, "View", "By position")
    expect(page.get_by_role("img", name="Mean attention of L1 H0 by position")).to_be_visible()
    count = f"{tiny_corpus.n_sentences:,}"
    expect(page.get_by_text(f"over the first {count} of {count} sentences")).to_be_visible()
    choose(page, "View", "Mixing")
    expect(page.get_by_role("img", name="Mixing ratio of each token by layer")).to_be_visible()
    page.get_by_text("Table", exact=True).click()
    shares = tiny_corpus.token_mixing.sel(ratio="attnresln_n").values[:, tiny_corpus.sentence_rows(SENTENCE)]
    expected = ["\t".join(f"{100 * share:.1f}%" for share in token) for token in shares.T.astype(np.float64)]
    lines = page.get_by_role("region", name="Mixing of each token").locator("tbody tr").all_inner_texts()
    assert [line.split("\t", 1)[1] for line in lines] == expected
    choose(page, "Ratio", "mixing ratio by weights")
    expect(page).to_have_url(re.compile(r"ratio=attn_w(&|$)"))
    expect(page.get_by_text("Mixing ratio by weights: the share of")).to_be_visible()


def test_a_link_restores_all_of_it(visit: Visit, tiny_server: str, pattern: np.ndarray) -> None:
    link = {"layer": 1, "head": 1, "sentence": SENTENCE, "show": "head", "heads": 1, "queries": "1.2", "least": "0.1"}
    page = sentence_page(visit, tiny_server, **link, special=0, renormalize=1, find="the", labelled="positive")
    left = pattern[1, 1, 1:-1, 1:-1]
    has_lines(page, (left / left.sum(axis=-1, keepdims=True))[1:3], least=0.1)
    expect(page.locator(".more .control-label")).to_have_text(
        "minimum weight 0.1; hide special tokens; rescale the rest to 100%"
    )
    open_controls(page)
    for switch in ("hide special tokens", "rescale the rest to 100%"):
        expect(page.get_by_role("switch", name=switch)).to_be_checked()
    expect(page.get_by_role("textbox", name="Words")).to_have_value("the")
    expect(page.get_by_role("textbox", name="Label")).to_have_value("positive")


def test_the_keyboard_alone_reaches_a_token_and_another_layer(open_page: Open, tiny_server: str) -> None:
    page = shown_by_keyboard(open_page(tiny_server))
    tab_to(page, "document.activeElement.matches('.tokens.query .token')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"queries=1(&|$)"))
    step = {"0": "]", "1": "["}[link_fields(page)["layer"]]  # whichever layer the page opens on
    page.keyboard.press(step)
    layer = {"]": 1, "[": 0}[step]
    expect(page).to_have_url(re.compile(rf"layer={layer}(&|$)"))
    came(page, rf"/layer/{layer}\.bin")
    expect(page.locator(".tokens.query .token").nth(1)).to_be_focused()


def shown_by_keyboard(page: Page) -> Page:
    """The page of a sentence, by its link among the pages."""
    expect(page.get_by_role("link", name="Sentence", exact=True)).to_be_visible()
    tab_to(page, "document.activeElement.textContent.trim() === 'Sentence'")
    page.keyboard.press("Enter")
    return shown(page)


def tab_to(page: Page, condition: str) -> None:
    """Press Tab until the focused element meets the condition."""
    for _ in range(60):
        if page.evaluate(condition):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"No Tab leads to where {condition}")


#: Boxes of all elements of the page.
BOXES = """() => [...document.querySelectorAll("h1, h2, .control-row > *, .marked-pairs, .control-group, .how-to-read, .token, .head-view, .ranking, .found")]
  .map((element) => JSON.stringify(element.getBoundingClientRect()))"""
#: Notes the layout shifts that the browser reports.
WATCH = """() => {
  window.shifts = [];
  new PerformanceObserver((list) => window.shifts.push(...list.getEntries().map(({ value }) => value)))
    .observe({ type: "layout-shift" });
}"""


def test_selecting_ranks_the_heads_and_clearing_moves_nothing(
    visit: Visit, tiny_server: str, pattern: np.ndarray
) -> None:
    page = sentence_page(visit, tiny_server, sentence=SENTENCE, layer=LAYER, heads=1, head=1)
    page.wait_for_timeout(500)  # the page has settled
    before = page.evaluate(BOXES)
    page.evaluate(WATCH)
    page.locator(".tokens.key .token").nth(4).hover()
    with followed(page):
        page.locator(".tokens.query .token").nth(2).click()
    choose(page, "Key", f"4: {pieces(page)[4]}")
    rows = page.locator(".ranking tbody tr")
    expect(rows).to_have_count(4)
    assert [tuple(row.split("\t")[:2]) for row in rows.all_inner_texts()] == ranked(pattern[:, :, 2, 4])
    assert page.evaluate(BOXES) == before
    with followed(page):
        page.get_by_role("button", name="Clear", exact=True).click()
    with followed(page):
        page.get_by_role("checkbox", name="Head 0").click()
    page.wait_for_timeout(300)
    assert page.evaluate(BOXES) == before
    assert page.evaluate("window.shifts") == []


def ranked(weights: np.ndarray) -> list[tuple[str, str]]:
    """Name and weight of heads by the weight of a query on a key (layer, head), the largest first."""
    order = np.argsort(-weights, axis=None).tolist()
    return [(f"L{at // 2} H{at % 2}", f"{100 * weights.ravel()[at]:.1f}%") for at in order]


def test_the_picture_begins_high_up_and_the_other_controls_open_by_the_keyboard(
    open_page: Open, tiny_server: str
) -> None:
    page = sentence_page(open_page, tiny_server, sentence=SENTENCE, layer=LAYER)
    top = page.locator(f"{ROOT} .stage").bounding_box()
    assert top
    assert top["y"] <= 260
    weight = page.get_by_role("textbox", name="Weight", exact=True)
    expect(weight).to_be_hidden()
    page.locator("#open-controls").press("Enter")
    expect(weight).to_be_visible()
    with followed(page):
        page.get_by_title("next sentence").click()
    expect(page.locator("#open-controls")).to_have_attribute("aria-expanded", "true")
    expect(weight).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("#open-controls").click()
    expect(weight).to_be_hidden()
    narrow = page.locator(f"{ROOT} .stage").bounding_box()
    assert narrow
    assert narrow["y"] < 500
    for name in ("Sentence A", "Sentence B (optional)"):
        field = page.get_by_role("textbox", name=name, exact=True).bounding_box()
        assert field
        assert 0 <= field["x"] < field["x"] + field["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_pairs_that_are_marked_in_the_picture_are_in_the_link(page: Page) -> None:
    with followed(page):
        page.locator(".tokens.query .token").nth(1).click()
    for key in (2, 3):
        page.locator(".tokens.key .token").nth(key).click(modifiers=["Shift"])
    expect(page).to_have_url(re.compile(r"marks=1-2\.1-3(&|$)"))
    names = pieces(page)
    expect(page.locator(".marked-pairs .chip")).to_contain_text([f"{names[1]} → {names[key]}" for key in (2, 3)])
    choose(page, "View", "Matrix view")
    expect(page.locator(".marked-pairs .chip")).to_have_count(2)


def test_a_bare_link_is_completed_by_the_head_it_shows(visit: Visit, tiny_server: str) -> None:
    page = shown(visit(f"{tiny_server}/sentence"))
    expect(page).to_have_url(re.compile(r"layer=\d+&.*heads=\d+"))
    expect(page.get_by_text("Opened on")).to_be_visible()
    expect(page.get_by_role("checkbox", checked=True)).to_have_count(1)


def test_what_arrives_by_the_model_is_drawn_less_where_a_token_looks(page: Page) -> None:
    open_controls(page)
    choose(page, "Show", "what arrives (ALTI)")
    came(page, "rollout=alti")
    turn(page, "minus where it looks")
    came(page, "rollout=alti&difference=1")
    expect(page.locator(f"{ROOT} .swatches")).to_have_text("arrives morelooks more")
    choose(page, "View", "Matrix view")
    expect(page.locator(f"{ROOT} .legend .ticks")).to_contain_text("arrives more")


def test_the_vector_of_a_sentence_and_its_likeness_are_computed_when_asked(page: Page) -> None:
    page.get_by_role("button", name="Split the vector over words").click()
    expect(page.get_by_role("region", name="Shares of words").get_by_role("row")).not_to_have_count(0)
    page.get_by_role("button", name="Take the nearest").click()
    expect(page.get_by_text(re.compile("pairs sum to the cosine exactly"))).to_be_visible()
    assert link_fields(page)["pooled"] == "text"
    assert link_fields(page)["alike"] == "nearest"
