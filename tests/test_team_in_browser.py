"""A team on one server, from signing in to a saved view: the real command, a real refresh, two browsers."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from store import open_snapshot
from tests.access import PASSWORD, write_users
from tests.bench.browser import production_server
from tests.browser import GOT_IT
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


@pytest.fixture
def signed_in(team: str, chromium: Browser) -> Iterator[Callable[[str], Page]]:
    """Opens the page of notes on a head as somebody who signs in on the way; no page may log an error."""
    contexts, errors = [], []

    def signed_in(name: str) -> Page:
        contexts.append(context := chromium.new_context())
        context.add_init_script(GOT_IT)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
        page.goto(team + HEAD)
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        return page

    yield signed_in
    for context in contexts:
        context.close()
    assert errors == []


def write(page: Page, button: str, text: str, send: str) -> None:
    page.get_by_role("button", name=button).click()
    page.locator("textarea").fill(text)
    page.get_by_role("button", name=send).click()
    expect(page.locator(".note-text").get_by_text(text)).to_be_visible()


def test_notes_and_saved_views_of_a_team_outlive_a_refresh(
    signed_in: Callable[[str], Page], store: str, ingest: Ingest
) -> None:
    ann, bob = signed_in("ann"), signed_in("bob")
    write(ann, "Add a note", "Attends to the next token?", "Save note")
    write(bob, "Reply", "In short sentences.", "Save reply")
    ann.get_by_role("button", name="Notes", exact=True).click()
    ann.get_by_role("button", name="Save this view").click()
    ann.get_by_label("Name").fill("L0 H1 and its notes")
    ann.keyboard.press("Enter")

    ingest(Path(store), sentences=SENTENCES + 8)
    ann.get_by_role("link", name="Open the newest").click()
    expect(ann.locator("header")).to_contain_text(open_snapshot(store).id[:8])
    expect(ann.locator(".note-text")).to_have_text(["Attends to the next token?", "In short sentences."])
    expect(ann.locator(".note-byline b")).to_have_text(["ann", "bob"])

    bob.goto(bob.url.partition("/head?")[0] + "/map")
    bob.get_by_role("button", name="Notes", exact=True).click()
    bob.get_by_role("link", name="L0 H1 and its notes").click()
    expect(bob.get_by_role("heading", level=1)).to_contain_text("L0 H1")
    expect(bob.locator(".note-text")).to_have_text(["Attends to the next token?", "In short sentences."])
