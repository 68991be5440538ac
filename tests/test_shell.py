"""Around the pages, in a browser: provenance, publications, several models, accessibility, no WebGL2, a corrupt chunk."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Browser, expect

from dashboard.pages import TOPICS
from store import Corpus, StoreError, open_corpus
from tests.accessibility import is_accessible
from tests.browser import CHROMIUM, FLAGS, Open, Visit, canvas_place, drawn, followed, serving
from tests.client import above


def test_page_store_tells_where_every_number_comes_from(client: FlaskClient, tiny_corpus: Corpus) -> None:
    page = above(client, "/store")
    assert tiny_corpus.attributes["weights_sha256"] in page
    assert f"{tiny_corpus.n_tokens:,}" in page
    assert "headscape ingest --store=" in page


def test_the_header_names_the_snapshot_and_a_publication_waits_until_its_reader_asks_for_it(
    open_page: Open, few: str, ingest: Callable[..., str]
) -> None:
    of_ten = open_corpus(few).n_tokens
    with serving(few) as address:
        page = drawn(open_page(f"{address}/heads"))
        shown = rf"snapshot {open_corpus(few).snapshot[:8]}, \d+ \w+ \d{{4}}, \d\d:\d\d UTC"
        expect(page.get_by_text(re.compile(shown))).to_be_visible()
        before = page.locator(".frame").bounding_box()
        ingest(Path(few), sentences=20)
        newest = page.locator("#newer").get_by_role("link", name="Open the newest")
        expect(newest).to_be_visible(timeout=15_000)
        assert page.locator(".frame").bounding_box() == before
        with followed(page):
            page.locator("label").filter(has_text="size by norm").click()
        expect(page.get_by_text(f"all {of_ten:,} tokens.")).to_be_visible()
        newest.click()
        expect(page.get_by_text(f"all {open_corpus(few).n_tokens:,} tokens.")).to_be_visible()
        page.close()  # before its server: an open page asks it every few seconds


def test_in_a_narrow_window_the_pages_are_a_drawer(open_page: Open, tiny_server: str) -> None:
    page = drawn(open_page(f"{tiny_server}/heads", width=360, height=740))
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


@pytest.mark.slow
def test_in_a_narrow_window_the_newest_is_in_the_drawer(open_page: Open, few: str, ingest: Callable[..., str]) -> None:
    with serving(few) as address:
        page = drawn(open_page(f"{address}/heads", width=360, height=740))
        ingest(Path(few), sentences=20)
        notice = page.locator("#newer")
        notice.get_by_role("button", name="Close").click(timeout=15_000)
        with followed(page):
            page.locator("label").filter(has_text="size by norm").click()
        page.get_by_role("button", name="Open the pages").click()
        page.get_by_role("dialog", name="Pages").get_by_role("link", name="Open the newest").click()
        expect(page.get_by_text(f"all {open_corpus(few).n_tokens:,} tokens.")).to_be_visible()
        page.close()  # before its server: an open page asks it every few seconds


def test_one_of_several_models_can_be_chosen(
    open_page: Open, few: str, ingest: Callable[..., str], odd_model: Path
) -> None:
    ingest(Path(few), sentences=10, model=str(odd_model))
    with serving(few) as address:
        page = drawn(open_page(f"{address}/heads"))
        expect(page.get_by_role("heading", level=1)).to_have_text("Queries and keys of all 12 heads")
        page.get_by_role("textbox", name="Model and corpus").click()
        page.get_by_role("option").filter(has_text="tiny-bert").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Queries and keys of all 4 heads")
        page.close()


#: Links that show each kind of control and of content once; the views of a sentence are looked at on known weights.
PATHS = (
    "/",
    "/store",
    "/heads?colour=entropy&q=film&where=position:1..9;label:positive&labels=1&size=norm",
    "/head?token=5&marks=1-2&lines=sentence&labels=1&colour=norm",
    "/sentence?sentence=3&layer=1&queries=2&toward=4&find=the&by=to_sep",
    "/statistics?where=label:positive;position:1..9&sort=entropy&values=difference&named=L1",
    "/map?paint=label",
)
#: More of the same pages: charts beside a picture, controls of a typed pair.
MORE = (
    "/head?tab=distance&text=The+film+was+good.",
    "/sentence?text=The+film+was+good.&second=We+loved+it.&pair=ab&hide=2",
)
#: Of a store with feature points.
FEATURES = "/features?point=L00.mixed&ftoken=3&fcolour=position&labels=1"


@pytest.mark.parametrize("path", [*PATHS, *(pytest.param(path, marks=pytest.mark.slow) for path in MORE)])
def test_axe_finds_nothing_serious(visit: Visit, space_server: str, path: str) -> None:
    is_accessible(visit(space_server + path), marks=path.startswith("/map"))


def test_axe_finds_nothing_serious_at_feature_points(visit: Visit, tiny_server: str) -> None:
    is_accessible(visit(tiny_server + FEATURES))


@pytest.mark.slow
def test_axe_finds_nothing_serious_where_points_cannot_be_read(chromium: Browser, tiny_server: str) -> None:
    page = chromium.new_page()
    page.route("**/points/**", lambda route: route.fulfill(status=500, body="The store cannot be read."))
    page.goto(f"{tiny_server}/head?layer=1&head=0")
    expect(page.locator(".points .problem")).not_to_be_empty()
    is_accessible(page)
    page.close()


@pytest.fixture(scope="session")
def without_webgl(chromium: Browser) -> Iterator[Browser]:
    with chromium.browser_type.launch(executable_path=CHROMIUM, args=[*FLAGS, "--disable-3d-apis"]) as browser:
        yield browser


def test_without_webgl2_the_server_draws_and_a_head_says_what_is_missing(
    space_server: str, without_webgl: Browser
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
    page.close()


@pytest.mark.slow
def test_without_webgl2_the_slider_goes_through_the_points_and_nothing_plays(
    tiny_server: str, without_webgl: Browser
) -> None:
    page = without_webgl.new_page()
    page.goto(f"{tiny_server}/features?point=embedding")
    page.get_by_role("slider", name="Point of the model").press("ArrowRight")
    expect(page).to_have_url(re.compile("point=position"))
    expect(page.locator(".player button")).to_be_hidden()
    page.close()


def test_a_corrupt_chunk_gets_a_message_of_one_sentence(few: str, chromium: Browser) -> None:
    with serving(few) as address:
        for chunk in (Path(few) / "chunks").iterdir():
            chunk.write_bytes(chunk.read_bytes()[: chunk.stat().st_size // 3])
        page = chromium.new_page()
        page.goto(f"{address}/heads")
        expect(page.locator("body")).to_contain_text("Run headscape verify")
        page.close()


def test_a_page_whose_picture_fails_keeps_its_controls_and_says_why(
    open_page: Open, tiny_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_place: object) -> None:
        raise StoreError("The places are gone. Make them again.")

    monkeypatch.setitem(TOPICS, "head", replace(TOPICS["head"], picture=fail))
    page = open_page(f"{tiny_server}/head?layer=1&head=0&q=fails")  # a link that no page was cached for
    expect(page.locator("#no-picture")).to_contain_text("The places are gone. Make them again.")
    expect(page.get_by_role("textbox", name="Colour", exact=True)).to_be_visible()


def test_a_page_that_fails_says_it_once(open_page: Open, tiny_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_asked: object) -> None:
        raise StoreError("The store is gone. Ingest again.")

    monkeypatch.setitem(TOPICS, "heads", replace(TOPICS["heads"], open=fail))
    page = open_page(f"{tiny_server}/heads?q=fails")  # a link that no page was cached for
    expect(page.locator("#above .problem")).to_contain_text("The store is gone. Ingest again.")
    expect(page.locator(".problem:visible")).to_have_count(1)
