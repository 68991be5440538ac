"""Lasso and box in a browser: drawn with the mouse, shown in every head, described, and saved as files."""

import re
from collections import Counter
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from pyarrow import parquet

from store import Corpus
from tests.browser import Visit, canvas_place, drawn, expect_title, inked, picture, quarters, seen
from tests.client import csv_rows

PATH = "/head?layer=1&head=0"
#: Corners of a convex quadrangle, 0..1 from the upper left.
CORNERS = ((0.04, 0.1), (0.4, 0.3), (0.8, 0.6), (0.1, 0.6))


@pytest.fixture
def head(visit: Visit, space_server: str) -> Page:
    return drawn(visit(space_server + PATH))


@pytest.fixture
def boxed(head: Page) -> Page:
    """The page of a head on which a box is drawn."""
    draw(head, "Box", (0.08, 0.3), (0.9, 0.5))
    return head


def draw(page: Page, tool: str, *corners: tuple[float, float]) -> None:
    """Draw a region with a tool; a lasso ends where it began."""
    page.get_by_role("button", name=tool, exact=True).click()
    page.mouse.move(*canvas_place(page, *corners[0]))
    page.mouse.down()
    for corner in (*corners[1:], *corners[:1])[: len(corners) if tool == "Lasso" else 1]:
        page.mouse.move(*canvas_place(page, *corner), steps=6)
    page.mouse.up()
    expect(page.locator(".frame")).to_have_attribute("data-masked", re.compile("lasso="))


def within_the_region(page: Page, corpus: Corpus) -> np.ndarray:
    """Mask of the places that are on one side of every edge of the region in the link: (token, role)."""
    fields = parse_qs(urlparse(page.url).query)["lasso"][0].split(",")
    assert fields[:5] == ["pca-exact-2d", "1", "0", "0", "0"]
    corners = np.array(list(dict.fromkeys(zip(fields[5::2], fields[6::2], strict=True))), float) / 1000
    places = corpus.places("pca-exact-2d", corpus.rows, layer=1, head=0).astype(float)
    edges = np.roll(corners, -1, axis=0) - corners
    to = places[..., None, :] - corners
    sides = edges[:, 0] * to[..., 1] - edges[:, 1] * to[..., 0]
    return (sides > 0).all(axis=-1) | (sides < 0).all(axis=-1)


def counted(page: Page, selected: np.ndarray) -> None:
    expect(page.locator(".count")).to_contain_text(f"{selected.sum():,} of {selected.size:,} drawn queries and keys")


def test_points_inside_the_lasso_are_selected(head: Page, space: Corpus) -> None:
    draw(head, "Lasso", *CORNERS)
    selected = within_the_region(head, space)
    assert 20 < selected.sum() < selected.size - 20
    counted(head, selected)
    inked(head, least=100)


def paled(plain: np.ndarray, panel: np.ndarray) -> int:
    """Number of pixel values that differ between two panels, at any place."""
    counts = [np.bincount(shown.ravel(), minlength=256) for shown in (plain, panel)]
    return int(np.abs(counts[0] - counts[1]).sum())


def test_a_box_is_described_and_saved_stands_out_in_all_heads_and_is_cleared(
    visit: Visit, space_server: str, boxed: Page, space: Corpus
) -> None:
    describes_the_points(boxed, space)
    saves_the_points(boxed, space)
    stands_out_in_all_heads(visit, space_server, boxed)
    boxed.go_back()
    drawn(boxed)
    boxed.get_by_role("button", name="Clear selection").click()
    expect(boxed).not_to_have_url(re.compile("lasso"))
    expect(boxed.locator(".frame")).to_have_attribute("data-masked", "")


def stands_out_in_all_heads(visit: Visit, space_server: str, boxed: Page) -> None:
    before = picture(drawn(visit(f"{space_server}/heads")))
    boxed.locator(".frame").press("Backspace")
    expect_title(boxed, "Queries and keys of all 4 heads")
    expect(
        boxed.locator('.frame[data-drawn*="grid"][data-masked*="mask/grid.bin"][data-masked*="lasso="]')
    ).to_be_visible()
    plain = quarters(before)
    assert min(np.ptp(panel) for panel in plain) > 0
    seen(boxed, lambda shown: min(map(paled, plain, quarters(shown))) > 500)


def describes_the_points(boxed: Page, space: Corpus) -> None:
    """The tab describes the selected points; for its numbers see `test_selection_summary.py`."""
    selected = within_the_region(boxed, space)
    counted(boxed, selected)
    tab = boxed.get_by_role("tabpanel", name="Selection")
    expect(tab).to_contain_text(f"{selected.sum():,} of {selected.size:,} drawn queries and keys")
    position = space.tokens.position.values[space.rows]
    position = np.stack([position, position], axis=-1)
    row = tab.get_by_role("row").filter(has=boxed.get_by_role("cell", name="position", exact=True))
    expect(row.locator(".number").nth(0)).to_contain_text(f"{position[selected].mean():.2f}")
    expect(row.locator(".number").nth(1)).to_contain_text(f"{position[~selected].mean():.2f}")
    points = np.argwhere(selected)
    pieces = Counter(space.wordpieces(space.rows[points[:, 0]]))
    groups = boxed.get_by_role("region", name="Selected tokens").locator("tbody")
    expect(groups).to_have_count(min(20, len(pieces)))
    titles = [row.split("\t") for row in groups.locator("tr:first-child").all_inner_texts()]
    assert {piece: int(count.split()[0].replace(",", "")) for piece, count in titles}.items() <= pieces.items()


def saves_the_points(boxed: Page, space: Corpus) -> None:
    tab, points = boxed.get_by_role("tabpanel", name="Selection"), np.argwhere(within_the_region(boxed, space))
    for form in ("csv", "parquet"):
        with boxed.expect_download() as download:
            tab.get_by_role("link", name=form).click()
        path = download.value.path()
        rows = parquet.read_table(path).to_pylist() if form == "parquet" else csv_rows(path.read_bytes())
        saved = sorted((int(row["token"]), row["role"]) for row in rows)
        assert saved == sorted((int(token), ("query", "key")[role]) for token, role in points), form


@pytest.mark.slow
def test_a_region_in_space_selects_what_is_seen_in_it(visit: Visit, space_server: str, space: Corpus) -> None:
    page = drawn(visit(f"{space_server}{PATH}&view=pca-exact-3d&at=0.5,0.5,1,0,0"))
    draw(page, "Box", (0.3, 0.3), (0.7, 0.7))
    fields = parse_qs(urlparse(page.url).query)["lasso"][0].split(",")
    x, y = np.array(fields[5:], float).reshape(-1, 2).T / 1000
    places = space.places("pca-exact-3d", space.rows, layer=1, head=0)
    counted(
        page,
        (places[..., 0] > x.min())
        & (places[..., 0] < x.max())
        & (places[..., 1] > y.min())
        & (places[..., 1] < y.max()),
    )
