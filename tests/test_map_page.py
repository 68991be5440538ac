"""Page Head map in a browser: places and colours of heads, nearest heads, and links that open a head."""

import re
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
import xarray as xr
from flask.testing import FlaskClient
from playwright.sync_api import Page, expect

from dashboard.app import create_app
from dashboard.head_map.page import HeadMap, draw, read
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import Corpus
from tests.accessibility import switch_scheme
from tests.browser import Visit, choose
from tests.client import above, shown
from tests.components import components
from tests.statistics_page import click_dot, has_head, hover_dot, settled
from tests.stores import rewritten
from tests.tiny_models import save_model


@pytest.fixture
def page(visit: Visit, space_server: str) -> Page:
    """Page Head map as at the begin of every test, free to be changed."""
    return map_page(visit, space_server)


def map_page(visit: Visit, server: str, query: str = "") -> Page:
    page = visit(f"{server}/map{query}")
    expect(page.locator("#matrix .heatmaplayer image")).to_be_visible()
    settled(page)
    return page


def dots(page: Page) -> list[str]:
    """The hover text of every dot of the map."""
    marks = page.locator("#head-map .scatterlayer .points path")
    expect(marks).to_have_count(4)
    return [hover_dot(page, "#head-map", number).text_content() or "" for number in range(marks.count())]


def test_the_map_has_every_head_and_the_matrix_every_two_heads_as_the_store_says_and_both_are_saved(
    page: Page, space: Corpus
) -> None:
    has_every_head(page, space)
    has_every_two_heads(page, space)
    says_its_method_and_is_saved(page, space)


def says_its_method_and_is_saved(page: Page, space: Corpus) -> None:
    attributes = space.divergence.attrs
    page.get_by_role("button", name="About the map of heads").click()
    tooltip = page.get_by_role("tooltip")
    expect(tooltip).to_contain_text(f"seed {attributes['seed']}; stress {float(attributes['stress']):.3f}")
    expect(tooltip).to_contain_text(f"{int(attributes['tokens']):,} of {space.n_tokens:,} tokens")
    page.keyboard.press("Escape")
    expect(page.locator("#matrix + .caption").get_by_role("button", name="SVG")).to_be_visible()
    with page.expect_download() as download:
        page.locator("#head-map + .caption").get_by_role("button", name="SVG").click()
    assert download.value.path().read_text("utf-8").startswith("<svg")


def has_every_head(page: Page, space: Corpus) -> None:
    assert [text.partition(":")[0] for text in dots(page)] == ["L0 H0", "L0 H1", "L1 H0", "L1 H1"]
    boxes = [dot.bounding_box() for dot in page.locator("#head-map .scatterlayer .points path").all()]
    shown = np.array([[box["x"], -box["y"]] for box in boxes if box])
    places = space.divergence["place"].values.reshape(4, -1)[:, :2]
    apart = [np.linalg.norm(points[:, None] - points, axis=-1)[np.triu_indices(4, 1)] for points in (shown, places)]
    np.testing.assert_allclose(apart[0] / apart[0].max(), apart[1] / apart[1].max(), atol=0.02)


def has_every_two_heads(page: Page, space: Corpus) -> None:
    page.locator("#matrix .heatmaplayer image").scroll_into_view_if_needed()
    box = page.locator("#matrix .heatmaplayer image").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.1 * box["height"])
    page.mouse.move(box["x"] + 0.88 * box["width"], box["y"] + 0.12 * box["height"])
    shown = page.locator("#matrix .hovertext")
    match = re.fullmatch(r"L(\d) H(\d) and L(\d) H(\d): (.*) nats", (shown.text_content() or "").strip())
    assert match
    pair = tuple(map(int, match.groups()[:4]))
    attributes = space.divergence.attrs
    assert float(match[5]) == pytest.approx(
        space.divergence["divergence"].values[pair] / attributes["tokens"], abs=6e-4
    )


def test_heads_are_coloured_and_selected_and_the_nearest_and_the_selected_one_are_links(
    page: Page, space: Corpus
) -> None:
    selects_a_head(page, space)
    layer, head = leads_to_the_nearest(page, space)
    choose(page, "Layer", str(1 - layer))
    expect(page.get_by_role("heading", name=f"Nearest to L{1 - layer} H{head}")).to_be_visible()
    colours_the_dots(page, space)
    page.locator(".selected-head").get_by_role("link", name="Open the head").click()
    has_head(page, 1 - layer, head)


def selects_a_head(page: Page, space: Corpus) -> None:
    click_dot(page, "#head-map", 2, "L1 H0", leads=r"/map\?layer=1$")
    beside = page.locator(".selected-head")
    expect(beside.get_by_role("heading", name="L1 H0", exact=True)).to_be_visible()
    expect(beside).to_contain_text(str(space.head_labels.values[1, 0]) or "Unlabelled")


def leads_to_the_nearest(page: Page, space: Corpus) -> tuple[int, int]:
    expect(page.get_by_role("heading", name="Nearest to L1 H0")).to_be_visible()
    rows = page.locator(".split tbody tr")
    mean = space.divergence["divergence"].values[1, 0].ravel() / space.divergence.attrs["tokens"]
    order = [at for at in np.argsort(mean, kind="stable").tolist() if at != 2]
    expect(rows.locator("td:first-child")).to_have_text([f"L{at // 2} H{at % 2}" for at in order])
    expect(rows.locator("td:last-child")).to_have_text([f"{mean[at]:.3f}" for at in order])
    rows.first.get_by_role("link").click()
    nearest = divmod(order[0], 2)
    expect(page.get_by_role("heading", name=f"Nearest to L{nearest[0]} H{nearest[1]}")).to_be_visible()
    return nearest


def colours_the_dots(page: Page, space: Corpus) -> None:
    choose(page, "Colour", "attention to [SEP]")
    expect(page.get_by_role("img", name=re.compile("coloured by to_sep"))).to_be_visible()
    value = 100 * float(space.head_statistic.sel(source="all", statistic="to_sep")[0, 0])
    expect(hover_dot(page, "#head-map", 0)).to_contain_text(f"L0 H0: {value:.1f}%, rank")
    choose(page, "Colour", "label")
    expect(page.get_by_role("img", name=re.compile("coloured by label"))).to_be_visible()
    label = str(space.head_labels.values[0, 0]) or "unlabelled"
    expect(hover_dot(page, "#head-map", 0)).to_have_text(f"L0 H0: {label}")


def test_a_link_restores_colour_and_head_and_the_colour_bar_has_the_colours_of_the_dots_on_a_dark_page(
    visit: Visit, space_server: str
) -> None:
    page = map_page(visit, space_server, "?paint=entropy&layer=1&head=1")
    switch_scheme(page)
    expect(page.get_by_role("textbox", name="Colour")).to_have_value("attention entropy")
    expect(page.get_by_role("heading", name="Nearest to L1 H1")).to_be_visible()
    parts = [page.locator(f"#head-map {part}").first for part in (".overplot", ".cbfills")]
    dots, bar = (part.evaluate("part => getComputedStyle(part).filter") for part in parts)
    assert dots == bar != "none"
    switch_scheme(page)


def test_a_model_without_labels_says_what_to_do(space_store: str) -> None:
    served_store = ServedStore(space_store)
    corpus = served_store.snapshot().corpus()
    corpus.head_labels = xr.full_like(corpus.head_labels, "")
    client = create_app(served_store).server.test_client()
    assert "Colour by layer or by a statistic." in above(client, "/map", "?paint=label")
    assert "Colour by layer or by a statistic." not in above(client, "/map", "?paint=layer")


def test_a_store_without_roles_has_a_map_by_layer_that_says_so(space_store: str) -> None:
    shown = read(resolve(ServedStore(space_store), "map", "?paint=role"))
    assert isinstance(shown, HeadMap)
    assert shown.shares is None
    parts = list(components(draw(shown).above))
    (colour,) = (each for each in parts if getattr(each, "label", None) == "Colour")
    assert (colour.value, "role" in {way["value"] for way in colour.data}) == ("layer", False)
    assert "coloured by layer" in str(parts)
    assert "coloured by role" not in str(parts)


@pytest.fixture(scope="module")
def one_head_client(tmp_path_factory: pytest.TempPathFactory, ingest: Callable[..., str]) -> FlaskClient:
    folder = tmp_path_factory.mktemp("one_head")
    model = save_model(folder / "one-head-bert", layers=1, heads=1)
    store = ingest(folder / "store", model=model, sentences=10)
    return create_app(ServedStore(store)).server.test_client()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/map", "Ingest a model with more heads."),
        ("/map", "Map of the head"),
        ("/head", "Ingest one with more to compare them."),
        ("/statistics", "1 of 1 heads."),
    ],
)
def test_a_model_of_one_head_has_its_pages(one_head_client: FlaskClient, path: str, message: str) -> None:
    parts = [shown(one_head_client, place, path) for place in ("above", "beside", "below")]
    assert message in "".join(parts)
    assert "This cannot be shown" not in "".join(parts)


def test_a_store_without_divergences_says_what_to_do(tmp_path: Path, space_store: str, space: Corpus) -> None:
    place = copytree(space_store, tmp_path / "store")
    with rewritten(place) as writer:
        writer.delete(f"models/{space.name}/divergence")
    client = create_app(ServedStore(str(place))).server.test_client()
    assert "headscape ingest" in above(client, "/map")
