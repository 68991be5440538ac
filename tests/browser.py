"""A real browser on a real server. Fixtures for the tests that click."""

import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from flask import Flask
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Download, Error, Page, expect, sync_playwright
from werkzeug.serving import make_server

from dashboard.app import create_app
from dashboard.web.served_store import ServedStore
from store import Corpus, open_corpus
from tests.made_once import made_once

#: Debian's chromium. Its shell without a window draws the same pages for a fifth less processor time: it comes first.
CHROMIUM = next(filter(Path.exists, map(Path, ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    # On SwiftShader, an accelerated 2D canvas shows the drawing of two pictures ago; no reader's browser does so.
    "--disable-accelerated-2d-canvas",
    # Points need WebGL. Without a graphics card, the browser composes the rest of the page faster without it.
    "--disable-gpu-compositing",
]
#: Seconds within which a page must become as a test expects: test processes share their cores.
SECONDS = 30
expect.set_options(timeout=1000 * SECONDS)
EMPTY = "about:blank"
#: Pages that tests use now.
HELD: list[Page] = []
DRAWN = '.frame[data-drawn^="/data/"]:not([aria-busy])'

#: Tells a page that its reader is no newcomer: the worked example of page Heads then covers nothing.
GOT_IT = 'try { localStorage.setItem("headscape-example", "seen"); } catch { /* an empty page stores nothing */ }'
#: Stops parts that fade in and out while a reader waits: without a graphics card the processor draws each frame of them.
CALM = """{
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("#page[aria-busy] > #above > *, .skeleton { animation: none !important; }");
  document.adoptedStyleSheets.push(sheet);
}"""

Serve = Callable[[str], str]
Open = Callable[..., Page]
Visit = Callable[[str], Page]


@contextmanager
def listening(application: Flask) -> Iterator[str]:
    """The address of a server of this application, for as long as the context lasts."""
    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield address
        _leave(address)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def serving(store: str) -> Iterator[str]:
    """The address of a dashboard on a store, for as long as the context lasts."""
    with listening(create_app(ServedStore(store)).server) as address:
        yield address


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is missing; install Debian's package chromium-headless-shell or chromium")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)


@pytest.fixture(scope="session")
def tiny_server(tiny_store: str) -> Iterator[str]:
    with serving(tiny_store) as address:
        yield address


@pytest.fixture(scope="session")
def space_store(ingest: Callable[..., str], genre_data: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with pictures in two and in three dimensions, of two normalisations, and a data column beside text and label."""
    make = partial(ingest, data=genre_data, views="pca-exact-2d,pca-exact-3d,pca-raw-2d")
    return str(made_once(tmp_path_factory, "space", make))


@pytest.fixture
def space(space_store: str) -> Corpus:
    return open_corpus(space_store)


@pytest.fixture(scope="session")
def space_server(space_store: str) -> Iterator[str]:
    with serving(space_store) as address:
        yield address


@pytest.fixture(scope="module")
def bank_server(bank_store: str) -> Iterator[str]:
    """The address of a dashboard on a store with words."""
    with serving(bank_store) as address:
        yield address


@pytest.fixture(scope="module")
def roles_server(roles_store: str) -> Iterator[str]:
    """The address of a dashboard on a store with words and roles of heads."""
    with serving(roles_store) as address:
        yield address


@pytest.fixture(scope="session")
def profile(chromium: Browser) -> Iterator[BrowserContext]:
    """The browser context of all tests: a new page starts no process, and fetches no script that an earlier page has fetched."""
    with chromium.new_context(permissions=["clipboard-read", "clipboard-write"]) as context:
        context.add_init_script(GOT_IT)
        context.add_init_script(CALM)
        yield context


def _leave(address: str) -> None:
    """Leave the pages of a server that ends: their open requests would fail."""
    for page in HELD:
        if not page.is_closed() and page.url.startswith(address):
            forget(page)


def forget(page: Page) -> None:
    """Leave a page empty: its cookies and its storage are deleted, scripts stay in the cache."""
    if page.url == EMPTY:
        return
    kinds = {"origin": page.evaluate("origin"), "storageTypes": "cookies,local_storage"}
    session = page.context.new_cdp_session(page)
    session.send("Storage.clearDataForOrigin", kinds)
    session.detach()
    page.goto(EMPTY)


@pytest.fixture(scope="session")
def spare_pages() -> list[Page]:
    """Open pages that no test uses now."""
    return []


@contextmanager
def opening(profile: BrowserContext, spare_pages: list[Page], *, may_fail: bool = False) -> Iterator[Open]:
    """A function that opens pages without traces of earlier pages. An error on a console fails the test, unless it `may_fail`."""
    errors: list[str] = []
    held: list[Page] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(f"{message.text} {message.location['url']}")

    def complain(error: Error) -> None:
        errors.append(str(error))

    def open_page(
        url: str, *, scheme: str = "light", motion: str = "no-preference", width: int = 1440, height: int = 900
    ) -> Page:
        page = spare_pages.pop() if spare_pages else profile.new_page()
        held.append(page)
        HELD.append(page)
        page.emulate_media(color_scheme=scheme, reduced_motion=motion)  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": height})
        page.mouse.move(0, 0)
        page.on("console", listen)
        page.on("pageerror", complain)
        page.goto(url)
        return page

    yield open_page
    for page in held:
        HELD.remove(page)
        if not page.is_closed():
            page.unroute_all()
            forget(page)
            page.remove_listener("console", listen)
            page.remove_listener("pageerror", complain)
            spare_pages.append(page)
    assert may_fail or errors == []


@pytest.fixture
def open_page(profile: BrowserContext, spare_pages: list[Page]) -> Iterator[Open]:
    """A function that opens pages of one test."""
    with opening(profile, spare_pages) as open_page:
        yield open_page


@pytest.fixture
def open_failing(profile: BrowserContext, spare_pages: list[Page]) -> Iterator[Open]:
    """A function that opens pages of a test in which requests fail on purpose: the browser writes each failure on the console."""
    with opening(profile, spare_pages, may_fail=True) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def open_shared(profile: BrowserContext, spare_pages: list[Page]) -> Iterator[Open]:
    """A function that opens pages for all tests of a module: tests that only read, or leave a page as they found it."""
    with opening(profile, spare_pages) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def visit(open_shared: Open) -> Visit:
    """A function that shows a link. Pages stay open for the module's tests; a link of an open page is shown in that page."""
    pages: dict[str, Page] = {}

    def visit(url: str) -> Page:
        place = url.partition("?")[0]
        if place in pages:
            return turned_to(pages[place], url)
        pages[place] = open_shared(url)
        return pages[place]

    return visit


def turned_to(page: Page, url: str) -> Page:
    """The page at another link. The page goes there as by the browser's Back button: it is not loaded anew."""
    page.mouse.move(0, 0)
    page.evaluate(_TURN, url)
    until(page, "document.querySelector('#page').dataset.link === location.pathname + location.search")
    page.evaluate(RENDERED)
    return page


#: Resolves once the page of a link is rendered: the link itself is noted before.
RENDERED = """() => new Promise((done) => {
  requestAnimationFrame(() => requestIdleCallback(() => requestAnimationFrame(() => requestIdleCallback(() => done()))));
})"""
_TURN = """(url) => {
  document.activeElement.blur();
  window.scrollTo(0, 0);
  history.pushState({}, "", url);
  dispatchEvent(new PopStateEvent("popstate", { state: {} }));
}"""


def drawn(page: Page) -> Page:
    """The page once its points are painted and its controls stand still: controls that come late move the picture."""
    expect(page.locator(DRAWN)).to_be_visible()
    expect(page.locator("#above h1")).to_be_visible()
    page.evaluate(STANDS)
    return page


#: Resolves once the picture has kept its place for `frames` frames, however long a frame takes.
STANDS = """(frames = 6) => new Promise((done) => {
  const place = () => JSON.stringify(document.querySelector(".frame")?.getBoundingClientRect());
  const look = (before, left) => requestAnimationFrame(() => {
    const now = place();
    if (now !== before) look(now, frames);
    else if (left) look(now, left - 1);
    else done();
  });
  look(place(), frames);
})"""


def canvas_place(page: Page, x: float, y: float) -> tuple[float, float]:
    """A place in the window from a place (0..1, from the upper left) in the picture; a single panel stands in the middle."""
    shown = page.locator(".frame canvas:visible, .frame img:visible").first.bounding_box()
    assert shown is not None
    wide = shown["height"] if page.locator(".points.single").count() else shown["width"]
    return shown["x"] + shown["width"] / 2 + (x - 0.5) * wide, shown["y"] + y * shown["height"]


def picture(page: Page) -> np.ndarray:
    """A screenshot of the canvas and of everything drawn over it: (row, column, colour)."""
    page.wait_for_timeout(150)
    shown = page.locator(".frame canvas").screenshot()
    return np.asarray(Image.open(io.BytesIO(shown)).convert("RGB")).astype(int)


def seen(page: Page, condition: Callable[[np.ndarray], bool]) -> None:
    """Wait until a screenshot of the picture meets a condition."""
    for _ in range(4 * SECONDS):
        if condition(picture(page)):
            return
    raise AssertionError(f"Not to be seen within {SECONDS} seconds")


def quarters(shown: np.ndarray) -> list[np.ndarray]:
    """The panels of four heads."""
    rows, columns = (size // 2 for size in shown.shape[:2])
    return [shown[y : y + rows, x : x + columns] for y in (0, rows) for x in (0, columns)]


def hues(shown: np.ndarray) -> np.ndarray:
    """Share of each of 512 colours. Shares do not depend on the size: a longer legend above makes a picture smaller."""
    codes = (shown // 32) @ np.array([64, 8, 1])
    return np.bincount(codes.ravel(), minlength=512) / codes.size


def changed(before: np.ndarray, after: np.ndarray) -> float:
    """Share of a picture that has another colour than before."""
    return float(np.abs(hues(before) - hues(after)).sum() / 2)


def saved_picture(page: Page, form: str = "PNG", width: str = "") -> Download:
    """The saved file of the points: PNG or SVG, as wide as on the page or `width` pixels."""
    page.get_by_role("button", name="Save", exact=True).click()
    if width:
        page.get_by_label("Width").select_option(width)
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Save {form}").click()
    return download.value


def until(page: Page, condition: str) -> None:
    """Wait until a condition in JavaScript holds. Playwright's own wait evaluates text in the page, which the page's policy forbids."""
    for _ in range(20 * SECONDS):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"Not within {SECONDS} seconds: {condition}")


def inked(page: Page, *, least: int = 1) -> None:
    """Wait until this many pixels of the canvas above the points are drawn on."""
    until(page, f"({_INK})() >= {least}")


def blank(page: Page) -> None:
    """Wait until nothing is drawn above the points."""
    until(page, f"({_INK})() === 0")


def never_there(page: Page) -> None:
    """Let animations that begin from now on never end: their start lies later than any frame."""
    page.evaluate("(now => { performance.now = () => now() + 1e6; })(performance.now.bind(performance))")


_INK = """() => {
  const sheet = document.querySelector(".overlay");
  const { data } = sheet.getContext("2d").getImageData(0, 0, sheet.width, sheet.height);
  return data.filter((value, i) => i % 4 === 3 && value > 0).length;
}"""


@contextmanager
def followed(page: Page) -> Iterator[None]:
    """Wait, after the actions in the context, until the link has changed and the page shows the new link."""
    before = page.locator("#page").get_attribute("data-link")
    yield
    link = "document.querySelector('#page').dataset.link"
    until(page, f"{link} !== {json.dumps(before)} && {link} === location.pathname + location.search")


def choose(page: Page, control: str, option: str) -> None:
    """Choose an option of a control."""
    page.get_by_role("textbox", name=control, exact=True).click()
    with followed(page):
        page.get_by_role("option", name=option, exact=True).click()


def choose_by_enter(page: Page, control: str, option: str) -> None:
    """Choose an option by the keyboard, in a list that can be searched."""
    box = page.get_by_role("textbox", name=control, exact=True)
    with followed(page):
        box.click()
        box.fill(option)
        box.press("ArrowDown")
        box.press("Enter")


def closed(page: Page) -> None:
    """Assert that no list of options is open, or opens again."""
    page.wait_for_timeout(300)
    expect(page.get_by_role("option")).to_have_count(0)


def expect_title(page: Page, text: str) -> None:
    """Wait until the page's heading and the tab's title have this text."""
    expect(page.get_by_role("heading", level=1)).to_have_text(text)
    expect(page).to_have_title(f"{text} · Headscape")
