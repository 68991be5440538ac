"""Tabs Top pairs and Distance in a browser: what they list, where they lead, what they save."""

import csv
import io
import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from dashboard.points.distance import CELLS
from store import Corpus
from tests.accessibility import is_accessible
from tests.browser import Visit, drawn, inked

PATH = "/head?layer=1&head=0"


@pytest.fixture
def distance(visit: Visit, space_server: str) -> Page:
    page = drawn(visit(f"{space_server}{PATH}&tab=distance"))
    expect(page.locator(".js-plotly-plot .heatmaplayer image")).to_have_count(2)
    return page


def test_top_pairs_are_those_of_the_store_and_one_is_marked_in_the_picture_of_its_sentence(
    visit: Visit, space_server: str, space: Corpus
) -> None:
    page = drawn(visit(space_server + PATH))
    page.get_by_role("tab", name="Top pairs").click()
    stored = space.pairs.isel(layer=1, head=0)
    there = stored.query_token.values >= 0
    query, key = (space.wordpieces(stored[name].values[there]) for name in ("query_token", "key_token"))
    rows = page.get_by_role("tabpanel").locator("tbody tr")
    expect(rows).to_have_count(min(40, there.sum()))
    listed = [tuple(cell.strip() for cell in row.split("\t")[:4]) for row in rows.all_inner_texts()]
    numbers = zip(stored.logit.values[there], stored.weight.values[there], strict=True)
    written = [(f"{logit:.2f}".replace("-", "−"), f"{100 * weight:.0f}%") for logit, weight in numbers]
    assert listed == [(q, k, *w) for q, k, w in zip(query, key, written, strict=True)][:40]
    page.get_by_title("Show the pair in the picture").first.click()
    first = space.pairs.isel(layer=1, head=0, rank=0)
    q, k = (int(space.tokens.position.values[int(first[name])]) for name in ("query_token", "key_token"))
    expect(page).to_have_url(re.compile(f"marks={q}-{k}"))
    expect(page.get_by_role("tab", name="Point")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_title(f"position {q}", exact=True)).to_have_class(re.compile("here"))
    inked(page, least=500)


def zooms_by_dragging(distance: Page) -> None:
    """Dragging over a chart zooms into it."""
    chart = distance.locator(".js-plotly-plot").first
    ticks = chart.locator(".xaxislayer-above")
    before = ticks.text_content() or ""
    assert before
    box = chart.locator(".nsewdrag").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    distance.mouse.move(x - 20, y - 20)
    distance.mouse.down()
    distance.mouse.move(x + 20, y + 20, steps=4)
    distance.mouse.up()
    expect(ticks).not_to_have_text(before)


def test_distance_is_shown_before_and_after_normalisation_and_its_charts_are_zoomed_and_saved(
    distance: Page, space: Corpus
) -> None:
    zooms_by_dragging(distance)
    for title in ("Before: raw vectors", "After normalisation: exact"):
        expect(distance.get_by_role("heading", name=title)).to_be_visible()
    constants = space.normalizations.isel(layer=1, head=0)
    for name in constants.normalization.values:
        constant = constants.sel(normalization=name)
        row = distance.get_by_role("row").filter(
            has=distance.get_by_role("cell", name=f"{name} About normalisation {name}", exact=True)
        )
        expect(row).to_contain_text(f"{float(constant.scale):.2f}")
        expect(row).to_contain_text(f"{float(constant.spearman):.2f}".replace("-", "−"))
    assert Image.open(io.BytesIO(saved(distance, "PNG").read_bytes())).format == "PNG"
    svg = saved(distance, "SVG").read_text("utf-8")
    assert svg.startswith("<svg")
    assert "Before: raw vectors" in svg
    assert ", snapshot " in svg
    assert len(list(csv.reader(io.StringIO(saved(distance, "csv").read_text("utf-8"))))) > CELLS
    is_accessible(distance, within="[role=tabpanel]")


def saved(page: Page, form: str) -> Path:
    """The first chart of the tab, or its numbers, as a file."""
    role = "link" if form == "csv" else "button"
    with page.expect_download() as download:
        page.get_by_role("tabpanel").get_by_role(role, name=form).first.click()  # type: ignore[arg-type]
    assert download.value.suggested_filename.endswith(f".{form.lower()}")
    return download.value.path()
