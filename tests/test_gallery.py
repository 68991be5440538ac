"""The gallery of the documentation: its page and its links show the declared views, and its pictures can be told apart."""

import re
from collections.abc import Iterator
from itertools import combinations

import pytest
from flask.testing import FlaskClient
from PIL import Image
from playwright.sync_api import Page, expect

from store import open_corpus
from tests.browser import Open, serving, turned_to
from tests.gallery.page import PAGE, pattern
from tests.gallery.pictures import FOLDER, MOST_DIFFERENT, difference, path_of
from tests.gallery.views import PUBLISHED, VIEWS, View

#: Bytes of all pictures together.
MOST_BYTES = 1_500_000


@pytest.fixture(scope="module")
def server(default_store: str) -> Iterator[str]:
    """The address of a dashboard on the default model with a few reviews."""
    with serving(default_store) as address:
        yield address


@pytest.fixture(scope="module")
def page(open_shared: Open, server: str) -> Page:
    """One page for all links, shown one after the other; it is loaded first, as an unloaded page cannot go to a link."""
    page = open_shared(f"{server}/lessons")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    return page


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_link_shows_what_the_gallery_promises(page: Page, server: str, view: View) -> None:
    turned_to(page, server + view.link)
    expect(page.get_by_role("heading").filter(has_text=view.heading).first).to_be_visible()
    expect(page.locator(view.shows).first).to_be_visible()
    expect(page.locator("#page .mantine-Alert-root")).to_have_count(0)


def test_the_page_is_that_of_the_declared_views() -> None:
    assert re.fullmatch(pattern(), PAGE.read_text("utf-8")), "Run `make gallery`."


@pytest.mark.heavy
def test_every_figure_of_a_sentence_is_read_from_a_store(default_store: str) -> None:
    corpus = open_corpus(default_store)
    assert [view.name for view in VIEWS if not {*view.named} <= view.figures(corpus).keys()] == []


def test_there_are_twelve_views_and_a_published_page_in_few_bytes() -> None:
    files = list(FOLDER.iterdir())
    assert len(VIEWS) == 12
    assert {*files} == {path_of(shot.name) for shot in (*VIEWS, PUBLISHED)}
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES


def test_another_snapshot_in_the_header_is_told_from_another_view() -> None:
    pictures = [Image.open(file).convert("RGB") for file in FOLDER.iterdir()]
    assert max(difference(each, without_snapshot(each)) for each in pictures) <= MOST_DIFFERENT
    assert min(difference(*pair) for pair in combinations(pictures, 2)) > MOST_DIFFERENT


def without_snapshot(picture: Image.Image) -> Image.Image:
    """A picture whose header does not name the snapshot."""
    changed = picture.copy()
    changed.paste("white", (280, 15, 560, 40))
    return changed


def test_the_dashboard_shows_the_gallery_with_links_to_itself(client: FlaskClient) -> None:
    shown = client.get("/docs/gallery.md")
    assert 'href="/heads"' in shown.text
    assert "img-src 'self'" in shown.headers["Content-Security-Policy"]
    assert client.get("/docs/gallery/heads.webp").data == path_of("heads").read_bytes()
    assert client.get("/docs/gallery/weather.webp").status_code == 404
