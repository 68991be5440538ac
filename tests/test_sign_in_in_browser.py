"""Signing in and out in a real browser."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from dashboard.access.users import EndedSessions
from tests.access import PASSWORD, by_password, server_of
from tests.accessibility import OF_COLOURS, serious
from tests.browser import GOT_IT, listening


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("access")


@pytest.fixture(scope="module")
def address(tiny_store: str, folder: Path) -> Iterator[str]:
    with listening(server_of(tiny_store, by_password(folder))) as address:
        yield address


@pytest.fixture
def page_of(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """A function that opens a page in a browser where nobody has signed in; errors but refusals fail the test."""
    errors: list[str] = []
    contexts = []

    def page_of(**options: object) -> Page:
        context = chromium.new_context(**options)  # type: ignore[arg-type]
        context.add_init_script(GOT_IT)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
        return page

    yield page_of
    for context in contexts:
        context.close()
    assert [error for error in errors if "401" not in error] == []


def sign_in(page: Page, password: str = PASSWORD) -> None:
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")


def test_everybody_can_sign_in_and_a_session_goes_from_there_to_its_end(
    page_of: Callable[..., Page], address: str, folder: Path
) -> None:
    page = page_of(viewport={"width": 360, "height": 640})
    page.goto(f"{address}/statistics?statistic=to_sep")
    everybody_can_sign_in(page)
    page.set_viewport_size({"width": 1440, "height": 900})
    sign_in(page)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Statistics")
    assert page.url == f"{address}/statistics?statistic=to_sep"
    expect(page.get_by_title("Signed in as ada").first).to_have_text("ada, author")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()  # a script that is still loading would be refused
    makes_a_token(page)
    page.go_back()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    EndedSessions(folder).end_all("ada")
    page.get_by_role("link", name="Head map").click()
    ended = page.locator("#session-ended")
    expect(ended).to_have_text("Your session has ended. Sign in again.")
    expect(page).to_have_url(link := f"{address}/map?statistic=to_sep")
    ended.get_by_role("link").click()
    sign_in(page)
    expect(page.locator("#navigation a[aria-current]")).to_have_text("Head map")
    assert page.url == link
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.goto(f"{address}/map")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


def makes_a_token(page: Page) -> None:
    page.get_by_title("tokens for scripts").first.click()
    page.get_by_label("Days until it ends").fill("7")
    page.keyboard.press("Enter")
    expect(page.get_by_text("It is valid for 7 days.")).to_be_visible()
    expect(page.locator(".token")).to_have_text(re.compile(r"\S{100,}"))
    assert serious(page) == []
    page.go_back()


def everybody_can_sign_in(page: Page) -> None:
    """Sign in by the keyboard, in a narrow window, in light and dark."""
    expect(page.get_by_label("Name")).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    sign_in(page, "wrong")
    expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong. Try again.")
    expect(page.get_by_label("Password")).to_be_focused()
    assert serious(page) == []
    page.emulate_media(color_scheme="dark")
    assert serious(page, OF_COLOURS) == []
    page.emulate_media(color_scheme="light")
