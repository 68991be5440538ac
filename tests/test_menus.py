"""Menus of buttons in a browser: a second click closes them, and Tab goes from the button into them."""

from collections.abc import Iterator
from urllib.parse import urlparse

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from dashboard.web.assets import DASHBOARD

#: The origin at which a browser finds our modules, and a page with the button Notes and a place for tools.
ORIGIN = "http://headscape.test"
PAGE = """<!doctype html>
<script type="application/json" id="link-table">{"fields": {}, "root": ""}</script>
<button id="open-notes">Notes</button>
<div id="tools" style="margin: 200px"></div>
<input>"""
FOLLOW = """async () => {
  window.dash_component_api = { getLayout: () => undefined };
  const { followNotes } = await import("/assets/notes/component.mjs");
  followNotes();
}"""
#: The tools of a picture without points.
TOOLS = """async () => {
  const { createToolbar } = await import("/assets/canvas/toolbar.mjs");
  createToolbar({
    tools: document.getElementById("tools"),
    host: document.body,
    frame: document.body,
    layout: { width: 300, height: 200, single: true },
    picture: { label: "A head", file: { source: "A store", stem: "store", notes: [] } },
    palette: { ink: "#000000" },
    player: { label: () => "" },
    layer: { focused: false },
    scale: 1,
    on: (target, name, act) => target.addEventListener(name, act),
  });
}"""


def serve(route: Route) -> None:
    """A file of the dashboard, or the page."""
    path = DASHBOARD / urlparse(route.request.url).path.lstrip("/")
    if path.is_file():
        route.fulfill(path=path, content_type="text/javascript")
    else:
        route.fulfill(body=PAGE, content_type="text/html")


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    opened = chromium.new_page()
    opened.route(f"{ORIGIN}/**", serve)
    opened.goto(ORIGIN)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("listen", "name", "inside"), [(FOLLOW, "Notes", "Notes on this view"), (TOOLS, "Save", "Save PNG")]
)
def test_a_second_click_closes_the_menu_of_a_button(page: Page, listen: str, name: str, inside: str) -> None:
    page.evaluate(listen)
    button = page.get_by_role("button", name=name, exact=True)
    item = page.get_by_role("button", name=inside)
    for _ in range(2):
        button.click()
        expect(item).to_be_visible()
        button.click()
        expect(item).to_be_hidden()


def test_tab_goes_from_the_button_notes_into_its_menu(page: Page) -> None:
    page.evaluate(FOLLOW)
    page.get_by_role("button", name="Notes", exact=True).press("Enter")
    expect(page.get_by_role("button", name="Notes on this view")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Notes on this view")).to_be_focused()
