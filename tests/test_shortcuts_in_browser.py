"""Keys of the whole page, and Help, which lists them and opens the tour."""

from flask.testing import FlaskClient
from playwright.sync_api import Page, expect

from tests.accessibility import OF_COLOURS, serious, switch_scheme
from tests.browser import Open, Visit, expect_title


def test_help_lists_keys_and_terms_and_opens_the_tour_which_arrow_keys_turn_and_escape_or_a_button_closes(
    visit: Visit, tiny_server: str
) -> None:
    page = overview(visit, tiny_server)
    keys, tour = (page.get_by_role("dialog", name=name) for name in ("Help", "Attention in five steps"))
    page.keyboard.press("?")
    expect(keys).to_contain_text("Statistics")
    page.get_by_text("Glossary", exact=True).click()
    expect(keys).to_contain_text("The numbers by which a token answers")
    assert serious(page) == []
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    switch_scheme(page)
    page.get_by_role("button", name="Help").click()
    expect(keys).to_be_visible()
    assert serious(page, OF_COLOURS) == []
    keys.get_by_role("button", name="New to attention").click()
    expect(keys).to_be_hidden()
    for key, step in (("ArrowRight", "2. Query and key"), ("ArrowLeft", "1. Tokens"), ("Enter", "2. Query and key")):
        page.keyboard.press(key)
        expect(tour.get_by_role("heading", name=step)).to_be_visible()
    assert serious(page) == []
    tour.get_by_role("button", name="query", exact=True).focus()
    expect(page.get_by_role("tooltip")).to_contain_text("by which a token asks")
    for is_open in (True, False):
        page.keyboard.press("Escape")
        expect(tour).to_be_visible(visible=is_open)
    switch_scheme(page)


def overview(visit: Visit, server: str) -> Page:
    page = visit(f"{server}/")
    expect(page.get_by_role("heading", level=1)).to_contain_text("What the heads of")
    return page


def test_c_copies_the_link_and_g_and_the_letter_of_a_page_open_it(visit: Visit, tiny_server: str) -> None:
    page = overview(visit, tiny_server)
    assert page.evaluate("document.fonts.load('16px Roboto').then((faces) => faces.length)") == 1
    expect(page.get_by_role("button", name="Copy link")).to_be_enabled()
    page.keyboard.press("c")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert "snapshot=" in page.evaluate("navigator.clipboard.readText()")
    page.keyboard.type("gm")
    expect(page).to_have_url(f"{tiny_server}/map")
    expect(page.locator("#head-map")).to_be_visible()


def test_an_older_link_shows_all_heads_where_letters_typed_into_a_search_are_no_shortcuts(
    open_page: Open, tiny_server: str
) -> None:
    page = open_page(f"{tiny_server}/?colour=norm")
    expect(page).to_have_url(f"{tiny_server}/heads?colour=norm")
    expect_title(page, "Queries and keys of all 4 heads")
    page.keyboard.press("/")
    box = page.get_by_placeholder("movie, then Enter")
    expect(box).to_be_focused()
    page.keyboard.type("gm?")
    expect(box).to_have_value("gm?")
    assert page.url == f"{tiny_server}/heads?colour=norm"


def test_the_typeface_is_that_of_the_package(client: FlaskClient) -> None:
    assert client.get("/fonts/Roboto-Regular.woff2").headers["content-type"] == "font/woff2"
