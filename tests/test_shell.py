"""Around the pages, in a browser: provenance, publications, several models, accessibility, no WebGL2, a corrupt chunk."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Browser, Page, expect

from dashboard.pages import TOPICS
from dashboard.topic import read_then_draw
from store import Corpus, StoreError, open_corpus
from tests.accessibility import is_accessible
from tests.browser import CHROMIUM, FLAGS, Open, canvas_place, drawn, followed, serving, turned_to
from tests.client import above


def test_page_store_tells_where_every_number_comes_from(client: FlaskClient, tiny_corpus: Corpus) -> None:
    page = above(client, "/store")
    assert tiny_corpus.attributes["weights_sha256"] in page
    assert f"{tiny_corpus.n_tokens:,}" in page
    assert "headscape ingest --store=" in page


def is_closed_each_way(page: Page) -> None:
    """The drawer of pages marks the open page; Escape, a click beside the drawer and its button close it."""
    drawer, button = page.get_by_role("dialog", name="Pages"), page.get_by_role("button", name="Open the pages")
    closings: list[Callable[[], None]] = [
        lambda: page.keyboard.press("Escape"),
        lambda: page.mouse.click(340, 400),
        lambda: drawer.get_by_role("button", name="Close the pages").click(),
    ]
    for close in closings:
        button.click()
        expect(drawer.get_by_role("link", name="Heads")).to_have_attribute("aria-current", "page")
        close()
        expect(drawer).to_be_hidden()
        expect(button).to_be_focused()
    button.click()
    drawer.get_by_role("link", name="Store", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Store")
    expect(drawer).to_be_hidden()


def test_a_publication_waits_until_its_reader_asks_for_it_in_the_header_or_in_the_drawer_of_a_narrow_window(
    open_page: Open, few: str, ingest: Callable[..., str]
) -> None:
    of_ten = open_corpus(few).n_tokens
    with serving(few) as address:
        page = drawn(open_page(f"{address}/heads"))
        shown = rf"snapshot {open_corpus(few).snapshot[:8]}, \d+ \w+ \d{{4}}, \d\d:\d\d UTC"
        expect(page.get_by_text(re.compile(shown))).to_be_visible()
        before = page.locator(".frame").bounding_box()
        narrow = drawn(open_page(f"{address}/heads", width=360, height=740))
        is_closed_each_way(narrow)
        ingest(Path(few), sentences=20)
        newest = page.locator("#newer").get_by_role("link", name="Open the newest")
        expect(newest).to_be_visible()
        assert page.locator(".frame").bounding_box() == before
        with followed(page):
            page.locator("label").filter(has_text="size by norm").click()
        expect(page.get_by_text(f"all {of_ten:,} tokens.")).to_be_visible()
        newest.click()
        expect(page.get_by_text(f"all {open_corpus(few).n_tokens:,} tokens.")).to_be_visible()
        narrow.go_back()
        narrow.locator("#newer").get_by_role("button", name="Close").click(timeout=15_000)
        with followed(narrow):
            drawn(narrow).locator("label").filter(has_text="size by norm").click()
        narrow.get_by_role("button", name="Open the pages").click()
        narrow.get_by_role("dialog", name="Pages").get_by_role("link", name="Open the newest").click()
        expect(narrow.get_by_text(f"all {open_corpus(few).n_tokens:,} tokens.")).to_be_visible()
        for open_one in (page, narrow):
            open_one.close()  # before its server, which an open page asks every few seconds


def test_one_of_several_models_can_be_chosen(open_page: Open, three_server: str) -> None:
    page = drawn(open_page(f"{three_server}/heads"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Queries and keys of all 4 heads")
    page.get_by_role("textbox", name="Model and corpus").click()
    page.get_by_role("option").filter(has_text="odd").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Queries and keys of all 12 heads")


@pytest.mark.slow
def test_a_message_that_points_cannot_be_read_is_accessible(open_failing: Open, tiny_server: str) -> None:
    page = open_failing("about:blank")
    page.route("**/points/**", lambda route: route.fulfill(status=500, body="The store cannot be read."))
    page.goto(f"{tiny_server}/head?layer=1&head=0")
    expect(page.locator(".points .problem")).not_to_be_empty()
    is_accessible(page, within=".points")


@pytest.fixture(scope="session")
def without_webgl(chromium: Browser) -> Iterator[Browser]:
    with chromium.browser_type.launch(executable_path=CHROMIUM, args=[*FLAGS, "--disable-3d-apis"]) as browser:
        yield browser


def test_without_webgl2_the_server_draws_a_head_says_what_is_missing_and_nothing_plays(
    space_server: str, tiny_server: str, without_webgl: Browser
) -> None:
    page = without_webgl.new_page()
    page.goto(f"{space_server}/heads")
    drawn(page)
    expect(page.locator(".frame img")).to_be_visible()
    assert page.evaluate("document.querySelector('.frame img').naturalWidth") > 300
    page.mouse.move(*canvas_place(page, 0.75, 0.25))
    expect(page.locator(".points .tip")).to_contain_text("L0 H1")
    for view, note in (("pca-exact-2d", "this is a still picture"), ("pca-exact-3d", "which 3D pictures need")):
        lasso = "lasso=pca-exact-2d,1,0,0,0,100,100,900,100,500,900"
        page.goto(f"{space_server}/head?layer=1&head=0&view={view}&{lasso}")
        expect(page.locator(".points .note")).to_contain_text(note)
        expect(page.locator(".frame img")).to_be_visible(visible=view.endswith("2d"))
    page.goto(f"{tiny_server}/features?point=embedding")
    page.get_by_role("slider", name="Point of the model").press("ArrowRight")
    expect(page).to_have_url(re.compile("point=position"))
    expect(page.locator(".player button")).to_be_hidden()
    page.close()


def test_a_corrupt_chunk_gets_a_message_of_one_sentence(few: str, open_failing: Open) -> None:
    with serving(few) as address:
        for chunk in (Path(few) / "chunks").iterdir():
            chunk.write_bytes(chunk.read_bytes()[: chunk.stat().st_size // 3])
        page = open_failing(f"{address}/heads")
        expect(page.locator("body")).to_contain_text("Run headscape verify")


def test_a_page_that_fails_says_so_once_and_one_whose_picture_fails_keeps_its_controls(
    open_page: Open, tiny_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_asked: object) -> None:
        raise StoreError("The store is gone. Ingest again.")

    monkeypatch.setitem(TOPICS, "heads", replace(TOPICS["heads"], layout=read_then_draw(fail, fail)))
    monkeypatch.setitem(TOPICS, "head", replace(TOPICS["head"], picture=fail))
    page = open_page(f"{tiny_server}/heads?q=fails")  # a link without a cached page
    expect(page.locator("#above .problem")).to_contain_text("The store is gone. Ingest again.")
    expect(page.locator(".problem:visible")).to_have_count(1)
    turned_to(page, f"{tiny_server}/head?layer=1&head=0&q=fails")
    expect(page.locator("#no-picture")).to_contain_text("The store is gone. Ingest again.")
    expect(page.get_by_role("textbox", name="Colour", exact=True)).to_be_visible()
