"""A team on one server, from signing in to a saved view: the real command, a real refresh, two readers."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from store import open_snapshot
from tests.access import PASSWORD, write_users
from tests.bench.browser import production_server
from tests.browser import Open
from tests.stores import SENTENCES, Ingest

HEAD = "/head?layer=0&head=1&tab=notes"


@pytest.fixture(scope="module")
def store(plain_store: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store that the test ingests once more."""
    return str(shutil.copytree(plain_store, tmp_path_factory.mktemp("team") / "store"))


@pytest.fixture(scope="module")
def team(store: str) -> Iterator[str]:
    """The address of a server of two authors."""
    state = Path(store).parent
    write_users(state / "users.json", ann="author", bob="author")
    flags = ("--auth=password", f"--state={state}", "--workers=1")
    with (state / "log").open("wb") as log, production_server(store, log, *flags) as address:
        yield address


def sign_in(page: Page, name: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")


def write(page: Page, button: str, text: str, send: str) -> None:
    page.get_by_role("button", name=button).click()
    page.locator("textarea").fill(text)
    page.get_by_role("button", name=send).click()
    expect(page.locator(".note-text").get_by_text(text)).to_be_visible()


@pytest.mark.slow
def test_notes_and_saved_views_of_a_team_outlive_a_refresh(
    open_page: Open, team: str, store: str, ingest: Ingest
) -> None:
    """Ann writes and saves a view, then Bob signs in at the same browser."""
    page = open_page(team + HEAD)
    sign_in(page, "ann")
    write(page, "Add a note", "Attends to the next token?", "Save note")
    page.get_by_role("button", name="Notes", exact=True).click()
    page.get_by_role("button", name="Save this view").click()
    page.get_by_label("Name").fill("L0 H1 and its notes")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Save this view")).to_be_hidden()
    page.get_by_role("button", name="Sign out").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.goto(team + HEAD)
    sign_in(page, "bob")
    write(page, "Reply", "In short sentences.", "Save reply")
    ingest(Path(store), sentences=SENTENCES + 8)
    page.get_by_role("link", name="Open the newest").click()
    expect(page.locator("header")).to_contain_text(open_snapshot(store).id[:8])
    has_both_notes(page)

    page.locator("#navigation").get_by_role("link", name="Head map").click()
    page.get_by_role("button", name="Notes", exact=True).click()
    page.get_by_role("link", name="L0 H1 and its notes").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("L0 H1")
    has_both_notes(page)


def has_both_notes(page: Page) -> None:
    expect(page.locator(".note-text")).to_have_text(["Attends to the next token?", "In short sentences."])
    expect(page.locator(".note-byline b")).to_have_text(["ann", "bob"])
