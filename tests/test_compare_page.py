"""Page Compare in a browser: the table, heat maps, pictures and patterns of two models."""

import re

import numpy as np
import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Locator, Page, expect

from dashboard.compare.data import Changes, changes, head_divergence, ranked_heads
from dashboard.compare.two_models import ModelPair
from store import STATISTICS
from store.schema.model import head_name
from tests.browser import Open, Visit, canvas_place, choose, drawn
from tests.client import above, shown
from tests.statistics_page import cells, click_cell
from tests.test_saved_picture import save, says_what_the_page_says

#: The place of the first token's query in one of the two panels (0..1 of the canvas, from its upper left).
POINT = """async (panel) => {
  const { decodePoints } = await import("/assets/canvas/painter.mjs");
  const source = document.querySelector(".frame").dataset.drawn;
  const { places, most, panels } = decodePoints(await (await fetch(source)).arrayBuffer());
  const [x, y] = places.subarray(panel * places.length / panels);
  const { width, height } = document.querySelector(".frame canvas").getBoundingClientRect();
  const [gap, title, inset] = [4, 17, 1.5];
  const side = (width - gap) / 2;
  const inside = (share) => inset + share * (side - 2 * inset);
  return [(panel * (side + gap) + inside(x / most)) / width, (title + side - inside(y / most)) / height];
}"""

#: Titles of columns that are aligned in another way than the cells below them, in every visible table.
MISALIGNED = """() => [...document.querySelectorAll("table.rows")].filter((table) => table.tHead && table.offsetWidth).flatMap((table) => {
  const align = (cell) => getComputedStyle(cell).textAlign.replace("start", "left").replace("end", "right");
  const borders = (cell) => [cell.getBoundingClientRect().left, cell.getBoundingClientRect().right].map(Math.round).join();
  const titles = [...table.tHead.rows].flatMap((row) => [...row.cells]).filter((cell) => cell.colSpan === 1);
  const cells = new Map([...table.tBodies[0].rows[0].cells].map((cell) => [borders(cell), align(cell)]));
  return titles.filter((one) => cells.get(borders(one)) !== align(one)).map((one) => one.innerText);
})"""


def compare_page(open_page: Open | Visit, server: str, two: ModelPair, query: str = "") -> Page:
    """The page of both models, once everything is counted."""
    page = drawn(open_page(f"{server}/compare?model={two.own.name}&other={two.other.name}{query}"))
    expect(page.locator("#likeness")).to_be_visible()
    expect(page.locator(".rows.changes")).to_be_visible()
    return page


def test_everything_on_the_page_is_of_both_models(visit: Visit, three_server: str, alike: ModelPair) -> None:
    page = compare_page(visit, three_server, alike)
    has_heads_that_changed_most(page, alike)
    has_both_in_charts_and_sentences(page, alike)
    rings_a_token_in_both_panels(page)
    says_what_the_page_says(page, "a head of both", alike, *save(page))
    has_titles_aligned_as_cells(page)


def has_titles_aligned_as_cells(page: Page) -> None:
    for more in page.locator("#page summary").all():
        more.click()
    assert page.locator("table.rows thead:visible").count() > 1
    assert page.evaluate(MISALIGNED) == []


def found_sentences(page: Page) -> Locator:
    """The rows of the matching sentences."""
    return page.get_by_role("region", name="Matching sentences").locator("tbody tr")


def has_heads_that_changed_most(page: Page, alike: ModelPair) -> None:
    """Heads that changed most come first, with intervals and the models' names. Numbers: `test_compare_data.py`."""
    changed = changes(alike, "to_sep", "all")
    ranked = ranked_heads(changed, "divergence")
    names, first = [head_name(*head) for head in ranked], ranked[0]
    expect(page.locator(".rows.changes tbody td:first-child")).to_have_text(names)
    values = (changed.divergence.mean[first], changed.divergence.low[first], changed.divergence.high[first])
    cell = page.locator(".rows.changes tbody tr").first.locator("td")
    expect(cell.nth(1)).to_have_text("{:.4f}{:.4f} to {:.4f}".format(*values))
    expect(cell.nth(5)).to_contain_text(STATISTICS[changed.most[first]].title)
    expect(cell.nth(5).locator(".between")).to_have_text(re.compile(most_changed(changed, first)))
    models = page.locator(".rows.changes thead .model-name")
    expect(models).to_have_text([f"{letter} {name}" for letter, name in 2 * list(zip("AB", alike.names, strict=True))])
    expect(page.get_by_text(re.compile(r"\bother - this\b"))).to_have_count(0)
    links = page.get_by_role("group", name="Largest changes").get_by_role("link")
    expect(links.locator("strong")).to_have_text(names[:3])
    page.locator("#likeness").scroll_into_view_if_needed()
    expect(links.first).to_be_in_viewport()
    page.evaluate("window.scrollTo(0, 0)")


def most_changed(changed: Changes, head: tuple[int, int]) -> str:
    """A regular expression for the change of the head's most changed statistic, with its interval."""
    less = changed.most_difference.change
    scale = 100 if STATISTICS[changed.most[head]].unit == "share" else 1
    mean, low, high = (
        f"{scale * numbers[head]:+.2f}".replace("-", "−") for numbers in (less.mean, less.low, less.high)
    )
    return rf"^{re.escape(mean)} \w+, {re.escape(f'{low} to {high}')}$"


def has_both_in_charts_and_sentences(page: Page, alike: ModelPair) -> None:
    about = page.get_by_role("button", name="About the sample").first
    sample = f"all 40 of 40 sentences ({alike.tokens:,} of {alike.tokens:,} tokens) of both models"
    expect(about).to_have_attribute("data-info", re.compile(re.escape(sample)))
    changed = changes(alike, "to_sep", "all")
    expect(cells(page, "#counterparts")).to_have_text([f"{number:.3f}" for number in changed.divergence.mean.ravel()])
    less = 100 * changed.difference.change.mean.ravel()
    expect(cells(page, "#differences")).to_have_text([f"{number:+.1f}".replace("-", "−") for number in less])
    for which in ("a", "b", "difference"):
        expect(page.locator(f"#pattern-{which} .heatmaplayer image")).to_be_attached()
    order = np.argsort(-head_divergence(alike, 0, 0), kind="stable")
    expect(found_sentences(page).locator("td:first-child")).to_have_text([str(sentence) for sentence in order[:20]])
    expect(page.get_by_text(f"Searched: all 40 of 40 sentences ({alike.tokens:,} of")).to_be_visible()


def rings_a_token_in_both_panels(page: Page) -> None:
    page.locator(".frame").scroll_into_view_if_needed()
    page.mouse.move(*canvas_place(page, *page.evaluate(POINT, 0)))
    expect(page.locator(".points .tip")).to_contain_text(re.compile(r"position \d+ of \d+ in sentence \d+"))
    linked = page.locator(".points .ring.linked").bounding_box()
    assert linked is not None
    x, y = canvas_place(page, *page.evaluate(POINT, 1))
    assert (linked["x"] + 8, linked["y"] + 8) == pytest.approx((x, y), abs=3)
    page.mouse.move(0, 0)
    expect(page.locator(".points .ring.linked")).to_be_hidden()


def test_what_is_chosen_is_in_the_link(visit: Visit, three_server: str, alike: ModelPair) -> None:
    page = compare_page(visit, three_server, alike, "&first=smallest")
    order = np.argsort(head_divergence(alike, 0, 0), kind="stable")
    expect(found_sentences(page).locator("td:first-child")).to_have_text([str(sentence) for sentence in order[:20]])
    choose(page, "Ranked by", "difference of the statistic")
    expect(page).to_have_url(re.compile("ranked=statistic"))
    choose(page, "Statistic", "attention entropy")
    names = [head_name(*head) for head in ranked_heads(changes(alike, "entropy", "all"), "statistic")]
    expect(page.locator(".rows.changes tbody td:first-child")).to_have_text(names)


def test_a_sentence_is_found_and_shown_on_the_same_page_and_a_typed_one_runs_through_both_models(
    visit: Visit, three_server: str, alike: ModelPair
) -> None:
    page = compare_page(visit, three_server, alike)
    page.get_by_role("textbox", name="Words").fill("film")
    page.keyboard.press("Enter")
    having = [n for n, text in enumerate(alike.own.sentences.text.values) if "film" in str(text).lower()]
    expect(page.get_by_text(f"{len(having)} of 40 sentences match")).to_be_visible()
    choose(page, "Ranked by (L0 H0)", "corpus order")
    expect(found_sentences(page).locator("td:first-child")).to_have_text([str(sentence) for sentence in having[:20]])
    found_sentences(page).last.get_by_role("link").click()
    expect(page).to_have_url(re.compile("/compare.*find=film.*#sentence-in-both"))
    expect(page.get_by_text(f"Sentence {having[:20][-1]} of 40")).to_be_visible()
    expect(page.get_by_role("heading", name="The same sentence in both")).to_be_in_viewport()
    page.get_by_role("textbox", name="Your own sentence").fill("The film was good.")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile(r"Typed sentence, \d+ tokens; one colour scale"))).to_be_visible(timeout=60_000)
    for which in ("a", "b", "difference"):
        expect(page.locator(f"#pattern-{which} .heatmaplayer image")).to_be_attached()
    page.get_by_role("link", name="Back to the sentences of the corpus").click()
    expect(page.get_by_text("Sentence 0 of 40")).to_be_visible()


@pytest.mark.slow
def test_a_link_restores_the_pictures_of_a_point(visit: Visit, three_server: str, alike: ModelPair) -> None:
    page = compare_page(visit, three_server, alike, "&pictures=point&point=L00.mixed&q=the")
    expect(page.locator('.frame[data-drawn*="/features/points/"]')).to_be_visible()
    assert "L00.mixed" in str(page.locator(".frame").get_attribute("data-drawn"))
    expect(page.get_by_text("drawn tokens selected, the same in both")).to_be_visible()


def test_the_navigation_leads_here_with_the_same_head(three_client: FlaskClient, alike: ModelPair) -> None:
    links = shown(three_client, "navigation", "/map", f"?model={alike.own.name}&layer=1")
    assert re.search(rf"'/compare\?model={re.escape(alike.own.name)}&layer=1'", links)


def test_a_cell_opens_its_head(visit: Visit, three_server: str, alike: ModelPair) -> None:
    page = compare_page(visit, three_server, alike)
    click_cell(page, 1, 0, (2, 2), "#counterparts")
    expect(page).to_have_url(re.compile(r"/head\?.*layer=1"))


@pytest.mark.slow
def test_models_of_other_shapes_say_what_cannot_be_compared_and_what_changed_most(
    open_page: Open, three_server: str, unlike: ModelPair
) -> None:
    page = open_page(f"{three_server}/compare?model={unlike.own.name}&other={unlike.other.name}")
    expect(page.get_by_text("their heads have no counterparts")).to_be_visible()
    expect(page.get_by_text("CKA can compare them, cosine cannot")).to_be_visible()
    expect(page.locator("#means-over-heads tbody tr")).to_have_count(16)
    expect(page.locator("#likeness .legendtext")).to_have_text(["CKA"])
    expect(page.locator("#pattern-difference")).to_have_count(0)
    links = page.get_by_role("group", name="Largest changes").get_by_role("link")
    expect(links).to_have_count(3)
    expect(links.first).to_contain_text("mean over heads")
    drawn(page)


def test_a_store_with_one_model_says_how_to_get_another(client: FlaskClient) -> None:
    page = above(client, "/compare")
    assert (
        "Run ', ['code', {}, 'headscape finetune --first=1600 --max-length=128'], ', then ', ['code', {}, 'headscape ingest --model=data/finetuned']"
        in page
    )


def test_one_of_the_largest_changes_opens_the_head_on_the_page(
    visit: Visit, three_server: str, alike: ModelPair
) -> None:
    page = compare_page(visit, three_server, alike)
    page.get_by_role("group", name="Largest changes").get_by_role("link").first.click()
    layer, head = ranked_heads(changes(alike, "to_sep", "all"), "divergence")[0]
    expect(page.get_by_role("heading", name=f"The same sentence in both models, L{layer} H{head}")).to_be_visible()
    expect(page.get_by_role("heading", name="Pictures in both models")).to_be_in_viewport()
