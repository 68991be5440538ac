"""A tab whose session ends at a proxy or at a provider says so, and saves no sign-in page as data."""

from typing import Any

import pytest
from playwright.sync_api import Download, Page, Route, expect

from tests.browser import Open, turned_to, until
from tests.standing import SETTLED

PAGE = {"content_type": "text/html", "body": "<h1>Sign in</h1>"}
#: Answers of a proxy before the server to a reader whose session has ended.
ENDED: dict[str, dict[str, Any]] = {
    "a redirect to a provider": {"status": 302, "headers": {"Location": "https://provider.example.org/sign-in"}},
    "a page to sign in": {"status": 200, **PAGE},
    "a refusal that is a page": {"status": 403, **PAGE},
    "a bare refusal": {"status": 401},
}


def answer(page: Page, how: dict[str, Any]) -> None:
    """Let every later request of the page get this answer."""

    def fulfil(route: Route) -> None:
        route.fulfill(**how)

    page.unroute_all(behavior="ignoreErrors")
    page.route("**/data/**", fulfil)
    page.route("**/api/notes", fulfil)
    page.route("**/_dash-update-component*", fulfil)


def test_a_page_says_that_its_session_has_ended_or_its_server_was_upgraded_and_saves_only_data(
    open_failing: Open, tiny_server: str
) -> None:
    page = open_failing(f"{tiny_server}/statistics?statistic=to_sep")
    until(page, SETTLED)
    says_that_its_session_has_ended(page)
    says_reload(page)


def says_that_its_session_has_ended(page: Page) -> None:
    """The page says that its session has ended, and saves a file only where the server sends it."""
    link = page.url
    saved: list[Download] = []
    page.on("download", lambda file: saved.append(file))
    file, notice = page.locator("a[download][href]").first, page.locator("#session-ended")
    expect(file).to_be_visible()
    for how in ENDED.values():
        answer(page, how)
        file.click()
        expect(notice).to_have_text("Your session has ended. Sign in again.")
        assert notice.get_by_role("link").evaluate("(link) => link.href") == link
        notice.evaluate("(notice) => notice.remove()")
    answer(page, {"status": 502, **PAGE})
    page.get_by_role("link", name="Head map").click()
    lost = "The server cannot be reached: the proxy before it answers 502. Try again in a moment."
    expect(page.locator("#above .problem")).to_contain_text(lost)
    assert saved == []
    page.unroute_all(behavior="ignoreErrors")
    turned_to(page, link)
    with page.expect_download() as download:
        file.click()
    assert download.value.suggested_filename.endswith(".csv")


def says_reload(page: Page) -> None:
    """A tab says that it must be reloaded when its server is newer."""
    upgraded = page.locator("#upgraded")
    expect(upgraded).to_have_count(0)

    def upgrade(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, headers=response.headers | {"headscape-version": "another"})

    page.route("**/data/page", upgrade)
    page.get_by_role("link", name="Head map").click()
    expect(upgraded).to_contain_text("Headscape was upgraded.")
    expect(upgraded.get_by_role("link")).to_have_attribute("href", "/map?statistic=to_sep")


@pytest.mark.slow
def test_a_note_that_is_being_written_outlives_the_session(open_failing: Open, tiny_server: str) -> None:
    page = open_failing(link := f"{tiny_server}/head?layer=1&head=1&tab=notes")
    page.get_by_role("button", name="Add a note").click()
    text, save = page.locator("textarea"), page.get_by_role("button", name="Save note")
    text.fill("Not lost")
    for how in (*ENDED.values(), {"status": 502, **PAGE}):
        answer(page, how)
        save.click()
        expect(page.locator(".note-form .note-problem")).not_to_be_empty()
        expect(text).to_have_value("Not lost")
    page.unroute_all(behavior="ignoreErrors")  # the reader comes back signed in
    notice = page.locator("#session-ended")
    notice.get_by_role("link", name="Sign in again").click()
    expect(notice).to_have_count(0)
    assert page.url == link
    page.get_by_role("button", name="Add a note").click()
    expect(text).to_have_value("Not lost")
