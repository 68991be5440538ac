"""Tab Statistics of the page of a head, in a browser: its numbers against all heads, its figures, its nearest heads."""

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from scipy.stats import spearmanr

from store import STATISTICS, Corpus
from store.kernels.heads import LABELS
from tests.browser import Visit
from tests.client import csv_rows
from tests.statistics_page import has_head

FIGURES = {
    "profile": "Attention of L1 H0 by relative position",
    "received-at": "Attention received by position in L1 H0",
    "frequency-norm": "Value norm by token frequency in L1 H0",
}


@pytest.fixture
def page(visit: Visit, space_server: str) -> Page:
    page = visit(f"{space_server}/head?layer=1&head=0")
    expect(page.locator("#frequency-norm .scatterlayer")).to_be_visible()
    return page


def row(page: Page, title: str) -> Locator:
    return page.get_by_role("tabpanel").get_by_role("row").filter(has=page.get_by_role("link", name=title, exact=True))


def test_the_label_stands_with_its_rule(page: Page, space: Corpus) -> None:
    label = str(space.head_labels.values[1, 0])
    panel = page.get_by_role("tabpanel")
    if not label:
        expect(panel.get_by_role("heading", name="Unlabelled", exact=True)).to_be_visible()
        return
    expect(panel.get_by_role("heading", name=f"Label: {label}")).to_be_visible()
    panel.get_by_role("button", name="About the label", exact=True).click()
    expect(page.get_by_role("tooltip")).to_have_text(f"{label}: {LABELS[label]} (Clark et al. 2019).")


def test_a_statistic_has_value_interval_rank_and_strip(page: Page, space: Corpus) -> None:
    for name in ("to_sep", "participation", "norm_to_self"):
        values = space.head_statistic.sel(source="all", statistic=name).values
        low, high = space.head_interval.sel(source="all", statistic=name).values[:, 1, 0]
        measure = STATISTICS[name]
        factor, digits, unit = (100, 1, "%") if measure.unit == "share" else (1, 2, f" {measure.unit}")
        shown = row(page, measure.title)
        expect(shown).to_contain_text(f"{factor * values[1, 0]:.{digits}f}{unit}")
        expect(shown).to_contain_text(f"{factor * low:.{digits}f} to {factor * high:.{digits}f}")
        expect(shown).to_contain_text(f"{1 + (values > values[1, 0]).sum()} of 4")
        strip = shown.get_by_role("img")
        expect(strip).to_have_attribute("alt", re.compile("All heads: .* to .*; this head: "))
        assert strip.evaluate("image => image.naturalWidth") > 0


def test_a_statistic_leads_to_the_sentences_with_most_of_it(page: Page) -> None:
    row(page, "mean largest weight (“confidence”, Voita et al.)").get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/sentence\?.*by=confidence"))
    expect(page.get_by_role("textbox", name="Ranked by (L1 H0)")).to_have_value(
        "mean largest weight (“confidence”, Voita et al.)"
    )


def test_every_figure_is_drawn_and_saved_and_says_what_it_is_of(page: Page, space: Corpus) -> None:
    for figure, name in FIGURES.items():
        expect(page.get_by_role("img", name=name)).to_be_visible()
        with page.expect_download() as download:
            page.locator(f"#{figure} + .caption").get_by_role("button", name="SVG").click()
        assert download.value.path().read_text("utf-8").startswith("<svg"), figure
    with page.expect_download() as download:
        page.locator("#profile + .caption").get_by_role("link", name="csv").click()
    shares = [float(row["share"]) for row in csv_rows(download.value.path().read_bytes())]
    np.testing.assert_allclose(shares, space.head_profile.sel(layer=1, head=0), rtol=1e-6)
    pieces = space.wordpieces(space.rows)
    count = [pieces.count(piece) for piece in pieces]
    rank = spearmanr(space.value_norm.values[1, 0, space.rows], count).statistic
    expect(page.locator("#frequency-norm + .caption")).to_contain_text(
        f"Spearman correlation of norm and frequency: {rank:.2f}.".replace("-", "−")
    )


def test_the_nearest_heads_are_links_to_their_pages(page: Page, space: Corpus) -> None:
    mean = space.divergence["divergence"].values[1, 0].copy()
    mean[1, 0] = np.inf
    layer, head = divmod(int(mean.argmin()), 2)
    page.get_by_role("heading", name="Nearest to L1 H0").locator("xpath=following::table[1]").get_by_role(
        "link"
    ).first.click()
    has_head(page, layer, head)
