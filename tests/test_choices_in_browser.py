"""Colours, sizes, labels and view of a picture: chosen in a browser, kept in the link."""

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from store import Corpus
from tests.browser import (
    DRAWN,
    Open,
    Visit,
    blank,
    changed,
    choose,
    choose_by_enter,
    closed,
    drawn,
    expect_title,
    followed,
    inked,
    picture,
    seen,
)

COLOURS = {
    "position": "position",
    "kind": "token type",
    "norm": "query / key norm",
    "entropy": "attention entropy",
    "data.genre": "genre",
}
#: All fields that a link can have on the picture of a head.
EVERY_FIELD = (
    "layer=1&head=1&tokens=200&view=pca-raw-2d&colour=entropy&size=norm&labels=1&q=film&within=prefix&where=position:1..9"
    "&lasso=pca-raw-2d,1,1,0,0,100,100,900,100,900,900,100,900&token=5&role=key&top=3&least=0.01&lines=sentence"
    "&marks=1-2&tab=point&at=0.5,0.5,1.5,0,0"
)


@pytest.fixture
def head(visit: Visit, space_server: str) -> Page:
    return drawn(visit(f"{space_server}/head?layer=1&head=0"))


@pytest.mark.slow
def test_points_are_coloured_by_each_kind_of_column_and_the_legend_says_ranges_and_counts(
    head: Page, space: Corpus
) -> None:
    """A number, categories, a statistic, a column of the data. The list closes after each choice."""
    before = picture(head)
    for column, choose_it in (
        ("position", choose),
        ("kind", choose),
        ("entropy", choose_by_enter),
        ("data.genre", choose),
    ):
        title = COLOURS[column]
        choose_it(head, "Colour", title)
        closed(head)
        expect(head.get_by_role("textbox", name="Colour", exact=True)).to_be_focused()
        expect(head.locator(".frame")).to_have_attribute("data-coloured", re.compile(f"/colours/{column}/1/0.bin"))
        expect(head.locator("#above .legend")).to_contain_text(f"{title}:")
        if column == "entropy":
            legend_says_the_range(head, space)
        shown = picture(head)
        assert changed(before, shown) > 0.001, column
        before = shown
    legend_counts_the_genres(head, space)


def legend_says_the_range(page: Page, space: Corpus) -> None:
    entropy = space.token_statistic.sel(statistic="entropy")[1, 0].values[space.rows].astype(float)
    low, high = np.percentile(entropy, [2, 98])
    expect(page.locator("#above .legend")).to_contain_text(re.compile(rf"{low:.2f}.*{high:.2f} nats"))


def legend_counts_the_genres(page: Page, space: Corpus) -> None:
    (genre,) = space.columns.values()
    codes = genre.values[space.tokens.sentence_index.values[space.rows]]
    for code, name in enumerate(genre.attrs["names"]):
        expect(page.locator(".chip").filter(has_text=name)).to_contain_text(f"({2 * (codes == code).sum():,})")
    expect(page.locator("#above .legend")).to_contain_text(f"{2 * (codes < 0).sum():,} points without a value")


def test_sizes_labels_and_the_view_are_chosen_and_going_back_undoes_a_choice(head: Page) -> None:
    chooses_sizes_and_labels(head)
    chooses_the_view(head)


def chooses_sizes_and_labels(head: Page) -> None:
    """The points get sizes by their norm; labels are drawn and taken away."""
    before = picture(head)
    with followed(head), head.expect_response(re.compile("/colours/norm/1/0.bin")):
        head.get_by_role("switch", name="size by norm").click()
    expect(head).to_have_url(re.compile("size=norm"))
    seen(head, lambda shown: changed(before, shown) > 0.005)
    blank(head)
    switch = head.get_by_role("switch", name="labels")
    with followed(head):
        switch.click()
    expect(head).to_have_url(re.compile("labels=1"))
    inked(head, least=500)
    with followed(head):
        switch.click()
    expect(head).not_to_have_url(re.compile("labels"))
    blank(head)


def chooses_the_view(head: Page) -> None:
    """The view is chosen by dimensions and normalisation; the Back button leads to the view before."""
    for control, option, view in (
        ("Dimensions", "3D", "pca-exact-3d"),
        ("Normalisation", "raw", "pca-raw-2d"),
        ("Normalisation", "exact", "pca-exact-2d"),
    ):
        choose(head, control, option)
        expect(head.locator(f'.frame[data-drawn*="/points/{view}/"]')).to_be_visible()
    expect(head).not_to_have_url(re.compile("view="))
    head.go_back()
    expect(head.locator('.frame[data-drawn*="/points/pca-raw-2d/"]')).to_be_visible()
    expect(head.get_by_role("textbox", name="Normalisation")).to_have_value("raw")


def test_a_link_restores_every_field(visit: Visit, space_server: str) -> None:
    page = drawn(visit(f"{space_server}/head?{EVERY_FIELD}"))
    expect_title(page, "Queries and keys of L1 H1")
    for control, value in {
        "Colour": COLOURS["entropy"],
        "Normalisation": "raw",
        "Search": "film",
        "Tokens shown": "200",
    }.items():
        expect(page.get_by_role("textbox", name=control, exact=True)).to_have_value(value)
    for switch in ("size by norm", "labels"):
        expect(page.get_by_role("switch", name=switch)).to_be_checked()
    expect(page.get_by_role("textbox", name="lines per token")).to_have_value("3")
    expect(page.get_by_role("radio", name="whole sentence")).to_be_checked()
    expect(page.get_by_role("tab", name="Point")).to_have_attribute("aria-selected", "true")
    frame = page.locator(".frame")
    expect(frame).to_have_attribute("data-zoom", "1.50")
    expect(frame).to_have_attribute("data-overlay", re.compile("/1/1/key/5.json.*top=3&least=0.01&lines=sentence"))
    expect(frame).to_have_attribute(
        "data-masked", re.compile("q=film&within=prefix&where=position:1..9&lasso=pca-raw-2d")
    )
    assert page.url.endswith(EVERY_FIELD)


def test_choices_are_kept_from_all_heads_to_one_and_colours_are_readable_in_the_dark(
    open_page: Open, space_server: str
) -> None:
    page = drawn(open_page(f"{space_server}/?view=pca-raw-2d&colour=entropy&q=film", scheme="dark"))
    assert np.ptp(picture(page), axis=(0, 1)).min() > 100
    page.locator(".frame").press("Enter")
    expect_title(page, "Queries and keys of L0 H0")
    expect(page.locator(f'{DRAWN}[data-drawn*="pca-raw-2d/0/0"][data-coloured*="entropy/0/0"]')).to_be_visible()
    expect(page.locator('.frame[data-masked*="q=film"]')).to_be_visible()
