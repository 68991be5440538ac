"""Page Statistics in a browser: numbers of all heads, of the corpus and of its parts, against the store."""

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from dashboard.compare.two_models import ModelPair
from dashboard.statistics.parts import part_of
from dashboard.web.served_store import ServedStore
from store import STATISTICS, Corpus
from store.schema.model import RATIOS
from tests.browser import Open, Visit, choose
from tests.client import csv_rows
from tests.counts import counted, mean, shares
from tests.statistics_page import cells, charted, click_cell, click_dot, has_head, hover_dot, settled
from tests.test_statistics_parts import cells as cells_of
from tests.test_statistics_parts import page_of, parts, text

FIGURES = (
    *("heat-map", "curves-classes", "curves-near", "curves-sep", "curves-norm", "curves-entropy", "curves-cls"),
    *("profile-layers", "profile", "mixing", "mixing-kinds", "expansion"),
)


@pytest.fixture
def fresh(visit: Visit, space_server: str) -> Page:
    """A new page Statistics, which a test may change."""
    return charted(visit(f"{space_server}/statistics?statistic=to_sep"))


def names(page: Page) -> list[str]:
    """Names of the heads in the order of the table."""
    return page.locator(".rows.heads tbody td:first-child").all_inner_texts()


# -- the heat map ---------------------------------------------------------------------------------------


def test_what_to_show_is_chosen_and_a_filter_added_and_taken_away(fresh: Page, space: Corpus) -> None:
    """The numbers of each choice are in `test_statistics_parts.py`."""
    page = fresh
    expect(cells(page)).to_have_text(shares(mean(space, "to_sep")))
    choose(page, "Statistic", "attention entropy")
    expect(cells(page)).to_have_text([f"{number:.1f}" for number in mean(space, "entropy").ravel()])
    expect(page).to_have_url(re.compile("statistic=entropy"))
    choose(page, "Mean over", "[CLS] only")
    of_cls = mean(space, "entropy", "cls")
    choose(page, "Show", "ranks")
    order = (-of_cls.ravel()).argsort().argsort()
    expect(cells(page)).to_have_text([str(rank + 1) for rank in order])
    choose(page, "Filter", "token type")
    page.get_by_role("textbox", name="Filter token type").click()
    part = part_of(space, "kind:word")
    page.get_by_role("option", name=f"word ({part.tokens:,})", exact=True).click()
    expect(page.locator(".count")).to_contain_text(
        f"{part.tokens:,} of {space.n_tokens:,} tokens ({100 * part.tokens / space.n_tokens:.1f}%) in {part.sentences:,} of"
    )
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Remove filter token type").click()
    expect(cells(page)).to_have_text([str(rank + 1) for rank in order])
    choose(page, "Layer", "1")
    expect(page.get_by_role("img", name="Attention of L1 H0 by relative position")).to_be_visible()


def test_cells_and_dots_say_head_number_interval_and_rank_and_open_the_head(fresh: Page, space: Corpus) -> None:
    page = fresh
    heat_map = page.locator("#heat-map .heatmaplayer image")
    heat_map.scroll_into_view_if_needed()
    box = heat_map.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 10, box["y"] + 10)
    low, high = 100 * space.head_interval.sel(statistic="to_sep", source="all").values[:, 0, 0]
    expect(page.locator("#heat-map .hovertext")).to_contain_text(
        f"L0 H0: {100 * mean(space, 'to_sep')[0, 0]:.1f}% (95%: {low:.1f} to {high:.1f}), rank"
    )
    value = 100 * mean(space, "to_previous")[0, 1]
    low, high = 100 * space.head_interval.sel(statistic="to_previous", source="all").values[:, 0, 1]
    expect(hover_dot(page, "#curves-near", 1)).to_contain_text(
        f"L0 H1, previous token: {value:.1f}% (95%: {low:.1f} to {high:.1f})"
    )
    click_dot(page, "#curves-near", 3, "L1 H1")
    has_head(page, 1, 1)
    page.go_back()
    click_cell(charted(page), 1, 0, (space.layers, space.heads))
    has_head(page, 1, 0)


def test_a_difference_of_two_models(three_models: str, alike: ModelPair) -> None:
    query = f"statistic=to_sep&values=difference&model={alike.own.name}&other={alike.other.name}"
    page = page_of(ServedStore(three_models), query)
    assert re.search("minus that of .*second", text(page))
    (models,) = (part for part in parts(page) if getattr(part, "label", None) == "model")
    assert alike.other.name in str(models.data)
    own, other = (mean(corpus, "to_sep") for corpus in (alike.own, alike.other))
    assert cells_of(page) == [f"{100 * number:+.1f}".replace("-", "−") for number in (own - other).ravel()]


# -- figures --------------------------------------------------------------------------------------------


def test_every_figure_definition_and_number_is_there_and_a_figure_and_the_table_are_saved(
    fresh: Page, space: Corpus
) -> None:
    has_every_figure(fresh, space)
    has_definitions_and_ratios(fresh, space)
    has_the_table(fresh, space)


def has_every_figure(page: Page, space: Corpus) -> None:
    """The page has all charts; for saved charts see also `test_saved_chart.py` and the charts of a head."""
    for figure in FIGURES:
        marks = page.locator(f"#{figure} .js-plotly-plot :is(.heatmaplayer image, .scatterlayer path, .barlayer path)")
        expect(marks.first, figure).to_be_attached()
        expect(page.locator(f"#{figure} + .caption").get_by_role("button", name="SVG"), figure).to_be_attached()
    with page.expect_download() as download:
        page.locator("#heat-map + .caption").get_by_role("button", name="SVG").click()
    assert download.value.path().read_text("utf-8").startswith("<svg")
    assert download.value.suggested_filename == f"heat-map-{space.name}-{space.snapshot}.svg"


def has_definitions_and_ratios(page: Page, space: Corpus) -> None:
    uniform = np.log(space.sentences.row_size.values).mean()
    expect(page.locator("#curves-entropy .annotation-text")).to_have_text(f"uniform attention: {uniform:.2f}")
    row = page.get_by_role("row").filter(has_text="Voita et al. 2019, section 4")
    expect(row).to_be_hidden()
    page.get_by_text("Definitions of the statistics").click()
    expect(row).to_contain_text(STATISTICS["confidence"].formula)
    page.get_by_text("Definitions of the statistics").click()
    expect(row).to_be_hidden()
    expect(page.locator("#mixing .scatterlayer .js-line")).to_have_count(len(RATIOS))
    page.get_by_text("Definitions of the ratios").click()
    expect(page.get_by_text(RATIOS["attnresln_n"].formula)).to_be_visible()


# -- the table ------------------------------------------------------------------------------------------


def has_the_table(page: Page, space: Corpus) -> None:
    assert names(page) == ["L0 H0", "L0 H1", "L1 H0", "L1 H1"]
    first = page.locator(".rows.heads tbody tr").first.locator("td").all_inner_texts()
    shown = [name for name in STATISTICS if name != "received"]
    factors = [100 if STATISTICS[name].unit == "share" else 1 for name in shown]
    expected = [mean(space, name)[0, 0] * factor for name, factor in zip(shown, factors, strict=True)]
    np.testing.assert_allclose([float(text) for text in first[2:]], expected, atol=0.051)
    with page.expect_download() as download:
        page.locator("p", has_text="All heads as").get_by_role("link", name="csv").click()
    rows = csv_rows(download.value.path().read_bytes())
    np.testing.assert_allclose([float(row["to_sep"]) for row in rows], mean(space, "to_sep").ravel(), rtol=1e-6)


def test_heads_are_sorted_and_found_by_name_and_label_and_one_is_opened_by_the_keyboard_alone(
    fresh: Page, space: Corpus
) -> None:
    rows = fresh.locator(".rows.heads tbody td:first-child")
    fresh.locator(".rows.heads").get_by_role("button", name="entropy", exact=True).click()
    expect(fresh).to_have_url(re.compile("sort=entropy"))
    order = [f"L{at // 2} H{at % 2}" for at in np.argsort(-mean(space, "entropy").ravel())]
    expect(rows).to_have_text(order)
    fresh.get_by_role("textbox", name="Name").fill("h1")
    fresh.get_by_role("textbox", name="Name").press("Enter")
    named = [head for head in order if head in ("L0 H1", "L1 H1")]
    expect(rows).to_have_text(named)
    label = str(space.head_labels.values[0, 1])
    labelled = [f"L{layer} H{head}" for layer, head in np.argwhere(space.head_labels.values == label)]
    fresh.get_by_role("textbox", name="Label").click()
    fresh.get_by_role("option", name=re.compile(f"^{re.escape(label or 'unlabelled')} \\(")).click()
    expect(fresh).to_have_url(re.compile("behaviour="))
    found = [head for head in named if head in labelled]
    expect(rows).to_have_text(found)
    link = fresh.locator(".rows.heads").get_by_role("link", name=found[0])
    for _ in range(120):
        if link.evaluate("one => one === document.activeElement"):
            break
        fresh.keyboard.press("Tab")
    fresh.keyboard.press("Enter")
    has_head(fresh, int(found[0][1]), 1)


# -- links ----------------------------------------------------------------------------------------------


def test_a_link_restores_all_of_it(visit: Visit, space_server: str, space: Corpus) -> None:
    query = "?statistic=to_cls&source=word&values=difference&against=to_sep&where=label:positive&sort=distance&named=L1"
    page = charted(visit(f"{space_server}/statistics{query}"))
    means = counted(space, part_of(space, "label:positive")).means.sel(source="word")
    less = 100 * (means.sel(statistic="to_cls") - means.sel(statistic="to_sep")).values
    expect(cells(page)).to_have_text([f"{number:+.1f}".replace("-", "−") for number in less.ravel()])
    order = np.argsort(-means.sel(statistic="distance").values[1])
    assert names(page) == [f"L1 H{head}" for head in order]


def test_a_link_keeps_its_box_until_a_double_click_takes_it_away(open_page: Open, space_server: str) -> None:
    link = f"{space_server}/statistics?across=entropy"
    page = charted(open_page(f"{link}&acrossin=1..2"))
    plot = page.locator("#scatter .nsewdrag")
    plot.scroll_into_view_if_needed()
    settled(page)
    expect(page).to_have_url(f"{link}&acrossin=1..2")
    plot.dblclick(position={"x": 5, "y": 5})
    expect(page).to_have_url(link)
