"""Keys of the whole page, and its list of them."""

from playwright.sync_api import Page, expect

from tests.accessibility import serious
from tests.browser import Open, expect_title


def overview(open_page: Open, server: str, **options: str) -> Page:
    page = open_page(server, **options)
    expect(page.get_by_role("heading", level=1)).to_contain_text("What the heads of")
    return page


def test_a_question_mark_lists_the_keys_and_escape_closes_the_list(open_page: Open, tiny_server: str) -> None:
    page = overview(open_page, tiny_server)
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_contain_text("Statistics")
    assert serious(page) == []
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()


def test_the_button_opens_the_list_and_its_own_closes_it(open_page: Open, tiny_server: str) -> None:
    page = overview(open_page, tiny_server, scheme="dark")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    assert serious(page) == []
    keys.get_by_role("button", name="Close").click()
    expect(keys).to_be_hidden()


def test_g_and_the_letter_of_a_page_open_it(open_page: Open, tiny_server: str) -> None:
    page = overview(open_page, tiny_server)
    page.keyboard.type("gm")
    expect(page).to_have_url(f"{tiny_server}/map")
    expect(page.locator("#head-map")).to_be_visible()


def test_c_copies_the_link_of_what_is_shown(open_page: Open, tiny_server: str) -> None:
    page = overview(open_page, tiny_server)
    expect(page.get_by_role("button", name="Copy link")).to_be_enabled()
    page.keyboard.press("c")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert "snapshot=" in page.evaluate("navigator.clipboard.readText()")


def test_letters_that_are_typed_into_a_search_are_no_shortcuts(open_page: Open, tiny_server: str) -> None:
    page = open_page(f"{tiny_server}/heads")
    expect_title(page, "Queries and keys of all 4 heads")
    page.keyboard.press("/")
    expect(page.get_by_placeholder("movie, then Enter")).to_be_focused()
    page.keyboard.type("gm?")
    expect(page.get_by_placeholder("movie, then Enter")).to_have_value("gm?")
    assert page.url == f"{tiny_server}/heads"


def test_an_older_link_to_all_heads_shows_them_under_their_own_path(open_page: Open, tiny_server: str) -> None:
    page = open_page(f"{tiny_server}/?colour=norm")
    expect(page).to_have_url(f"{tiny_server}/heads?colour=norm")
    expect_title(page, "Queries and keys of all 4 heads")


def test_the_pages_have_the_typeface_of_the_package(open_page: Open, tiny_server: str) -> None:
    page = overview(open_page, tiny_server)
    assert page.request.get(f"{tiny_server}/fonts/Roboto-Regular.woff2").headers["content-type"] == "font/woff2"
    assert page.evaluate("document.fonts.load('16px Roboto').then((faces) => faces.length)") == 1
