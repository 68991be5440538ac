"""Notes and saved views in a browser: two people, drafts, marks, the keyboard."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from dashboard.app import create_app
from dashboard.notes.address import notes_address
from dashboard.serving import Serving
from dashboard.web.served_store import ServedStore
from tests.accessibility import is_accessible
from tests.browser import EMPTY, Open, drawn, listening, turned_to, until
from tests.people import NAMED, with_people
from tests.standing import SETTLED

#: Opens a page as a person.
As = Callable[[str, str], Page]


@pytest.fixture(scope="module")
def address(tiny_store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place = str(tmp_path_factory.mktemp("notes") / "notes.sqlite3")
    serving = Serving(notes=notes_address(place, tiny_store))
    with listening(with_people(create_app(ServedStore(tiny_store), serving).server)) as address:
        yield address


@pytest.fixture(scope="module")
def open_as(open_shared: Open, address: str) -> Iterator[As]:
    """A function that opens a link as a person; each person has one page, which then shows the new link."""
    pages: dict[str, Page] = {}

    def open_as(name: str, link: str) -> Page:
        if name in pages:
            return turned_to(pages[name], address + link)
        pages[name] = open_shared(EMPTY)
        pages[name].set_extra_http_headers({NAMED: name})
        pages[name].goto(address + link)
        return pages[name]

    yield open_as
    for page in pages.values():
        page.set_extra_http_headers({})


def written(place: Page | Locator, text: str, *, act: str = "Add a note", send: str = "Save note") -> None:
    """Write a note, or the text that the button `act` asks for."""
    place.get_by_role("button", name=act).click()
    place.locator("textarea").fill(text)
    place.get_by_role("button", name=send).click()
    expect(place.locator(".note-text").get_by_text(text)).to_be_visible()


def test_a_note_is_answered_by_another_person_survives_a_reload_and_is_read_without_write_controls(open_as: As) -> None:
    ann, bob = (open_as(name, "/head?layer=0&head=1&tab=notes") for name in ("ann", "bob"))
    written(ann, "A sink?")
    expect(bob.locator(".note-text")).to_have_text("A sink?")  # without a reload
    written(bob, "Yes, of full stops.", act="Reply", send="Save reply")
    expect(bob.get_by_role("button", name="Edit")).to_have_count(1)
    ann.reload()
    expect(ann.locator(".note-replies .note-text")).to_have_text("Yes, of full stops.")
    expect(ann.locator(".note-byline b")).to_have_text(["ann", "bob"])
    reader = open_as("reader", "/head?layer=0&head=1&tab=notes")
    expect(reader.get_by_text("A sink?")).to_be_visible()
    expect(reader.locator(".note-panel button:visible")).to_have_count(0)
    reader.get_by_role("button", name="Notes", exact=True).click()
    expect(reader.get_by_role("button", name="Save this view")).to_be_hidden()


def test_a_draft_outlives_a_failed_save_and_a_reload_and_two_clicks_save_one_note(open_as: As) -> None:
    page = open_as("ann", "/head?layer=1&head=0&tab=notes")
    page.get_by_role("button", name="Add a note").click()
    page.locator("textarea").fill("Not lost")
    page.reload()
    page.get_by_role("button", name="Add a note").click()
    expect(page.locator("textarea")).to_have_value("Not lost")
    page.route("**/api/notes", lambda route: route.fulfill(status=200, json={"problem": "The disk is full."}))
    page.get_by_role("button", name="Save note").click()
    expect(page.get_by_role("alert").get_by_text("The disk is full.")).to_be_visible()
    expect(page.locator("textarea")).to_have_value("Not lost")
    page.unroute_all()
    page.get_by_role("button", name="Save note").dblclick()
    expect(page.locator(".note-text")).to_have_text(["Not lost"])  # two clicks save one note
    expect(page.locator("textarea")).to_have_count(0)


def test_heads_points_and_tokens_with_notes_are_marked(open_as: As) -> None:
    page = open_as("ann", "/sentence?sentence=0&queries=1")
    panel = page.locator("#notes-token")
    panel.get_by_text("Notes on “").click()
    written(panel, "Odd")
    expect(page.locator(".tokens.key .token").nth(1)).to_have_attribute("aria-label", re.compile(r", 1 note$"))
    page = drawn(open_as("ann", "/head?layer=0&head=0&tab=notes"))
    until(page, "document.querySelector('.points').hasAttribute('data-noted')")
    expect(page.get_by_text("token with notes")).to_be_visible()
    written(page, "Broad")
    page.goto(page.url.partition("/head?")[0] + "/heads")
    expect(page.locator(".panel-notes span").first).to_have_text("1")
    page.locator(".frame").focus()
    expect(page.locator(".announcement[aria-live]").first).to_contain_text("1 note")


def test_a_saved_view_is_opened_by_a_colleague(open_as: As) -> None:
    ann = open_as("ann", "/head?layer=1&head=1&colour=position&tab=pairs")
    ann.get_by_role("button", name="Notes", exact=True).click()
    ann.get_by_role("button", name="Save this view").click()
    ann.get_by_label("Name").fill("Positions of L1 H1")
    ann.keyboard.press("Enter")
    expect(ann.get_by_role("dialog", name="Save this view")).to_be_hidden()
    bob = open_as("bob", "/")
    bob.get_by_role("button", name="Notes", exact=True).click()
    bob.get_by_role("link", name="Positions of L1 H1").click()
    expect(bob.get_by_role("heading", level=1)).to_contain_text("L1 H1")
    expect(bob.get_by_role("tab", name="Top pairs")).to_have_attribute("aria-selected", "true")
    expect(bob.get_by_role("textbox", name="Colour")).to_have_value("position")


def test_notes_are_written_and_deleted_by_the_keyboard_alone(open_as: As) -> None:
    page = open_as("ann", "/sentence?sentence=2&layer=1&head=1&heads=1")
    until(page, SETTLED)  # notes that were opened before their page is whole are closed again
    summary = page.locator("summary").filter(has_text="Notes on this sentence")
    summary.press("Enter")
    add = page.get_by_role("button", name="Add a note")
    add.press("Enter")
    expect(page.locator("textarea")).to_be_focused()
    page.keyboard.press("Escape")
    expect(add).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("By keys")
    page.keyboard.press("Control+Enter")
    expect(summary).to_have_text("Notes on this sentence (1)")
    expect(add).to_be_focused()
    page.get_by_role("button", name="Delete").press("Enter")
    expect(page.get_by_role("button", name="Keep")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Delete")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("group", name="Delete this note?").get_by_role("button", name="Delete").press("Enter")
    expect(summary).to_have_text("Notes on this sentence")
    page.keyboard.press("Escape")
    expect(summary).to_be_focused()


def test_page_notes_lists_and_filters_and_shuts_nobody_out(open_as: As) -> None:
    page = open_as("ann", "/head?layer=0&head=0&tab=notes")
    written(page, "About commas")
    page.keyboard.press("g")
    page.keyboard.press("n")
    expect(page.locator("#notes-list .note-text").get_by_text("About commas")).to_be_visible()
    page.get_by_role("textbox", name="Text").fill("nothing like it")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No note matches.")).to_be_visible()
    page.goto(page.url.partition("?")[0])
    page.get_by_role("button", name="Reply").first.click()
    is_accessible(page)
