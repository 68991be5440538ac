"""Page Statistics in a browser: numbers of all heads, of the corpus and of its parts, against the store."""

import csv
import io
import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from dashboard.compare.two_models import ModelPair
from dashboard.statistics.part import part_of
from store import STATISTICS, Corpus
from store.schema.model import RATIOS
from tests.browser import Open, choose
from tests.counts import counted
from tests.statistics_page import cells, click_cell, click_dot, has_head, hover_dot, statistics_page

FIGURES = (
    *("heat-map", "curves-classes", "curves-near", "curves-sep", "curves-norm", "curves-entropy", "curves-cls"),
    *("profile-layers", "profile", "mixing", "mixing-kinds", "expansion"),
)
#: Every kind of filter: its condition in a link.
FILTERS = {
    "label": "label:positive",
    "sentence length": "sentence_length:4..8",
    "token kind": "kind:word|continuation",
    "frequency band": "frequency_band:10 to 99 times",
    "column of the data": "data.genre:war",
}


@pytest.fixture
def page(open_page: Open, space_server: str) -> Page:
    return statistics_page(open_page, space_server)


def shares(values: np.ndarray) -> list[str]:
    return [f"{100 * value:.0f}" for value in values.ravel()]


def mean(corpus: Corpus, statistic: str, source: str = "all") -> np.ndarray:
    values: np.ndarray = corpus.head_statistic.sel(statistic=statistic, source=source).values
    return values


def names(page: Page) -> list[str]:
    """Heads of the table in their order."""
    return page.locator(".rows.heads tbody td:first-child").all_inner_texts()


# -- the heat map ---------------------------------------------------------------------------------------


def test_the_cells_are_the_means_of_the_store(page: Page, space: Corpus) -> None:
    expect(cells(page)).to_have_text(shares(mean(space, "to_sep")))


def test_another_statistic_has_its_own_cells(page: Page, space: Corpus) -> None:
    choose(page, "Statistic", "attention entropy")
    expect(cells(page)).to_have_text([f"{one:.1f}" for one in mean(space, "entropy").ravel()])
    expect(page).to_have_url(re.compile("statistic=entropy"))


def test_means_may_be_over_other_rows(page: Page, space: Corpus) -> None:
    choose(page, "Mean over", "[CLS] only")
    expect(cells(page)).to_have_text(shares(mean(space, "to_sep", "cls")))


def test_ranks_are_those_of_the_means(page: Page, space: Corpus) -> None:
    choose(page, "Show", "ranks")
    order = (-mean(space, "to_sep").ravel()).argsort().argsort()
    expect(cells(page)).to_have_text([str(rank + 1) for rank in order])


def test_a_difference_of_two_statistics(page: Page, space: Corpus) -> None:
    choose(page, "Show", "values ... minus")
    choose(page, "minus", "attention to itself")
    less = 100 * (mean(space, "to_sep") - mean(space, "to_self"))
    expect(cells(page)).to_have_text([f"{one:+.1f}" for one in less.ravel()])


def test_a_cell_opens_its_head(page: Page, space: Corpus) -> None:
    click_cell(page, 1, 0, (space.layers, space.heads))
    has_head(page, 1, 0)


def test_hover_says_name_number_interval_and_rank(page: Page, space: Corpus) -> None:
    box = page.locator("#heat-map .heatmaplayer image").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 10, box["y"] + 10)
    low, high = 100 * space.head_interval.sel(statistic="to_sep", source="all").values[:, 0, 0]
    expect(page.locator("#heat-map .hovertext")).to_contain_text(
        f"L0 H0: {100 * mean(space, 'to_sep')[0, 0]:.1f} % (95 %: {low:.1f} to {high:.1f}), rank"
    )


def test_the_definition_is_one_click_away(page: Page) -> None:
    row = page.get_by_role("row").filter(has_text="Voita et al. 2019, section 4")
    expect(row).to_be_hidden()
    page.get_by_text("Definitions of the statistics").click()
    expect(row).to_contain_text(STATISTICS["confidence"].formula)


def test_a_difference_of_two_models(open_page: Open, three_server: str, alike: ModelPair) -> None:
    page = statistics_page(open_page, three_server, f"?values=difference&model={alike.own.name}")
    page.get_by_role("textbox", name="of", exact=True).click()
    page.get_by_role("option", name=re.compile("second")).click()
    expect(page.get_by_role("heading", name=re.compile("minus that of .*second"))).to_be_visible()
    own, other = (mean(corpus, "to_sep") for corpus in (alike.own, alike.other))
    expect(cells(page)).to_have_text([f"{100 * one:+.1f}" for one in (own - other).ravel()])


# -- filters --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", FILTERS.values(), ids=FILTERS)
def test_a_filter_recomputes_every_number(open_page: Open, space_server: str, space: Corpus, where: str) -> None:
    page = statistics_page(open_page, space_server, f"?where={where}")
    part = part_of(space, where)
    assert 0 < part.tokens < space.n_tokens
    expected = counted(space, part).means.sel(statistic="to_sep", source="all").values
    expect(cells(page)).to_have_text(shares(expected))
    expect(page.locator(".count")).to_contain_text(
        f"{part.tokens:,} of {space.n_tokens:,} tokens ({100 * part.tokens / space.n_tokens:.1f} %) in {part.sentences:,} of"
    )


def test_a_filter_is_added_and_taken_away(page: Page, space: Corpus) -> None:
    choose(page, "Filter", "token type")
    page.get_by_role("textbox", name="Filter token type").click()
    part = part_of(space, "kind:word")
    page.get_by_role("option", name=f"word ({part.tokens:,})", exact=True).click()
    expected = counted(space, part).means.sel(statistic="to_sep", source="all").values
    expect(cells(page)).to_have_text(shares(expected))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Remove filter token type").click()
    expect(cells(page)).to_have_text(shares(mean(space, "to_sep")))


def test_a_part_without_tokens_says_what_to_do(open_page: Open, space_server: str) -> None:
    page = open_page(f"{space_server}/statistics?where=position:5000..6000")
    expect(page.locator(".count")).to_contain_text("No tokens match. Remove a filter.")


def test_a_filter_that_differs_from_head_to_head_is_left_out_and_said(open_page: Open, space_server: str) -> None:
    page = statistics_page(open_page, space_server, "?where=entropy:0..1")
    expect(page.get_by_text("Ignored a filter: “attention entropy” differs between heads.")).to_be_visible()


def test_a_figure_of_rows_that_are_filtered_away_says_what_to_do(open_page: Open, space_server: str) -> None:
    page = statistics_page(open_page, space_server, "?where=kind:word")
    expect(page.locator("#curves-cls + .caption")).to_contain_text("No such tokens here. Remove a filter.")


# -- figures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("figures", [FIGURES[:6], FIGURES[6:]], ids=["upper", "lower"])
def test_every_figure_is_drawn_and_saved(page: Page, space: Corpus, figures: tuple[str, ...]) -> None:
    """In two halves: Chromium lets a page save ten files, and asks before the next."""
    for figure in figures:
        marks = page.locator(f"#{figure} .js-plotly-plot :is(.heatmaplayer image, .scatterlayer path, .barlayer path)")
        expect(marks.first, figure).to_be_attached()
        button = page.locator(f"#{figure} + .caption").get_by_role("button", name="SVG")
        with page.expect_download() as download:
            button.click()
        assert download.value.path().read_text("utf-8").startswith("<svg"), figure
        assert download.value.suggested_filename == f"{figure}-{space.name}-{space.snapshot}.svg"


def test_a_dot_says_its_head_number_and_interval(page: Page, space: Corpus) -> None:
    value = 100 * mean(space, "to_previous")[0, 1]
    low, high = 100 * space.head_interval.sel(statistic="to_previous", source="all").values[:, 0, 1]
    expect(hover_dot(page, "#curves-near", 1)).to_contain_text(
        f"L0 H1, previous token: {value:.1f} % (95 %: {low:.1f} to {high:.1f})"
    )


def test_a_dot_opens_its_head(page: Page) -> None:
    click_dot(page, "#curves-near", 3, "L1 H1")
    has_head(page, 1, 1)


def test_entropy_stands_beside_that_of_uniform_attention(page: Page, space: Corpus) -> None:
    uniform = np.log(space.sentences.row_size.values).mean()
    said = page.locator("#curves-entropy .annotation-text")
    expect(said).to_have_text(f"uniform attention: {uniform:.2f}")


def test_the_profile_is_of_the_chosen_head(page: Page) -> None:
    for control, name in (("Layer", "L1 H0"), ("Head", "L1 H1")):
        choose(page, control, "1")
        expect(page.get_by_role("img", name=f"Attention of {name} by relative position")).to_be_visible()


def test_every_mixing_ratio_has_a_line(page: Page) -> None:
    expect(page.locator("#mixing .scatterlayer .js-line")).to_have_count(len(RATIOS))
    page.get_by_text("Definitions of the ratios").click()
    expect(page.get_by_text(RATIOS["attnresln_n"].formula)).to_be_visible()


# -- the table ------------------------------------------------------------------------------------------


def test_the_table_has_every_head_with_its_numbers(page: Page, space: Corpus) -> None:
    assert names(page) == ["L0 H0", "L0 H1", "L1 H0", "L1 H1"]
    first = page.locator(".rows.heads tbody tr").first.locator("td").all_inner_texts()
    shown = [name for name in STATISTICS if name != "received"]
    factors = [100 if STATISTICS[name].unit == "share" else 1 for name in shown]
    expected = [mean(space, name)[0, 0] * factor for name, factor in zip(shown, factors, strict=True)]
    np.testing.assert_allclose([float(text) for text in first[2:]], expected, atol=0.051)


def test_a_column_sorts_the_heads(page: Page, space: Corpus) -> None:
    page.locator(".rows.heads").get_by_role("link", name="entropy", exact=True).click()
    expect(page).to_have_url(re.compile("sort=entropy"))
    order = np.argsort(-mean(space, "entropy").ravel())
    expect(page.locator(".rows.heads tbody td:first-child")).to_have_text([f"L{at // 2} H{at % 2}" for at in order])


def test_heads_are_found_by_name(page: Page) -> None:
    page.get_by_role("textbox", name="Name").fill("h1")
    page.get_by_role("textbox", name="Name").press("Enter")
    expect(page.locator(".rows.heads tbody td:first-child")).to_have_text(["L0 H1", "L1 H1"])


def test_heads_are_filtered_by_label(page: Page, space: Corpus) -> None:
    labels = space.head_labels.values
    label = str(labels[0, 0])
    wanted = [f"L{layer} H{head}" for layer, head in np.argwhere(labels == label)]
    page.get_by_role("textbox", name="Label").click()
    page.get_by_role("option", name=re.compile(f"^{re.escape(label or 'unlabelled')} \\(")).click()
    expect(page.locator(".rows.heads tbody td:first-child")).to_have_text(wanted)


def test_a_name_that_no_head_has_says_what_to_do(open_page: Open, space_server: str) -> None:
    page = statistics_page(open_page, space_server, "?named=seven")
    expect(page.get_by_text("No heads match. Clear the name or the label.")).to_be_visible()


def test_the_table_is_a_file_of_the_same_part(open_page: Open, space_server: str, space: Corpus) -> None:
    page = statistics_page(open_page, space_server, "?where=kind:word&source=word")
    with page.expect_download() as download:
        page.get_by_text("All heads as").get_by_role("link", name="csv").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text("utf-8"))))
    expected = counted(space, part_of(space, "kind:word")).means.sel(source="word", statistic="to_sep").values
    np.testing.assert_allclose([float(row["to_sep"]) for row in rows], expected.ravel(), rtol=1e-6)


def test_the_keyboard_alone_opens_a_head(page: Page) -> None:
    link = page.locator(".rows.heads").get_by_role("link", name="L1 H0")
    for _ in range(120):
        if link.evaluate("one => one === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    has_head(page, 1, 0)


# -- links ----------------------------------------------------------------------------------------------


def test_a_link_restores_all_of_it(open_page: Open, space_server: str, space: Corpus) -> None:
    asked = "?statistic=to_cls&source=word&values=difference&against=to_sep&where=label:positive&sort=distance&named=L1"
    page = statistics_page(open_page, space_server, asked)
    means = counted(space, part_of(space, "label:positive")).means.sel(source="word")
    less = 100 * (means.sel(statistic="to_cls") - means.sel(statistic="to_sep")).values
    expect(cells(page)).to_have_text([f"{one:+.1f}" for one in less.ravel()])
    order = np.argsort(-means.sel(statistic="distance").values[1])
    assert names(page) == [f"L1 H{head}" for head in order]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("statistic=charm", "Ignored an invalid parameter: statistic=charm"),
        ("other=gpt-2", "There is no other model gpt-2"),
    ],
)
def test_what_a_link_asks_for_in_vain_is_said(open_page: Open, space_server: str, asked: str, said: str) -> None:
    page = statistics_page(open_page, space_server, f"?{asked}")
    expect(page.get_by_text(said)).to_be_visible()
