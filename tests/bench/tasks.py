"""Tasks of a newcomer, done by mouse and by keyboard from the first page, with clicks and keys counted."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.bench.browser import production_server
from tests.bench.complete_page import wait_until_complete
from tests.bench.page_tasks import (
    compare_models,
    draw_one_line_per_token,
    keep_heads_above,
    mark_pairs,
    read_coreference,
    read_review,
    read_uas,
    see_directions,
    see_whole_words,
    try_seed,
)
from tests.bench.readers import Keyboard, Mouse, Reader
from tests.bench.table import show
from tests.browser import CHROMIUM, FLAGS, GOT_IT

PREVIOUS = "to the previous token"
TEXT, WORD = "The film was not good.", "not"
CONTRAST = "positive minus negative"
#: Permissions to read and write the clipboard.
CLIPBOARD = ["clipboard-read", "clipboard-write"]


def find_head(reader: Reader, behaviour: str = PREVIOUS) -> None:
    """Find a head that looks at the previous token: the page of the clearest one."""
    page = reader.page
    kind = page.locator(".cards li, .kinds li").filter(has_text=behaviour).first
    reader.follow(kind.get_by_role("link", name=re.compile(r"^L\d+ H\d+$")))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Queries and keys of L")
    label, role = page.get_by_role("heading", name=re.compile("^Label: ")), page.locator("#beside p")
    expect(label.or_(role.filter(has_text=behaviour)).first).to_be_visible()


def see_attention(reader: Reader, text: str = TEXT, word: str = WORD) -> None:
    """See the attention of a word of a typed sentence: its lines alone."""
    reader.open("Sentence")
    reader.write("Sentence A", text)
    page = reader.page
    expect(page.locator('#sentence[data-drawn*="/typed/"]')).to_be_visible(timeout=60_000)
    queries = page.locator(".tokens.query")
    token = queries.locator(".token").filter(has_text=re.compile(rf"^{re.escape(word)}$")).first
    reader.select(queries, token)
    expect(page).to_have_url(re.compile(r"queries=\d"))
    expect(token).to_have_attribute("aria-pressed", "true")


def find_least(reader: Reader) -> None:
    """Find the sentences in which a head attends to [SEP] least."""
    reader.open("Head")
    tab = reader.page.get_by_role("tab", name="Statistics")
    expect(tab).to_be_visible()
    if tab.get_attribute("aria-selected") != "true":
        reader.select(reader.page.get_by_role("tablist"), tab)
    reader.follow(reader.page.get_by_role("link", name="attention to [SEP]", exact=True))
    expect(reader.page.get_by_role("textbox", name="Order", exact=True)).to_be_enabled()
    reader.choose("Order", "smallest first")
    expect(reader.page).to_have_url(re.compile("by=to_sep.*first=smallest|first=smallest.*by=to_sep"))
    expect(reader.page.get_by_role("region", name="Matching sentences").locator("tbody tr").first).to_be_visible()


def compare_labels(reader: Reader, contrast: str = CONTRAST) -> None:
    """Compare positive with negative reviews in one statistic: a heat map of the differences of all heads."""
    reader.follow(reader.page.get_by_role("link", name=contrast, exact=True))
    expect(reader.page.locator("#heat-map .heatmaplayer image")).to_be_visible(timeout=60_000)
    expect(reader.page.get_by_text(contrast).first).to_be_visible()


def send(reader: Reader) -> None:
    """Copy a link of this snapshot, to send a colleague exactly the current view."""
    reader.copy_link()
    expect(reader.page.get_by_role("button", name="Copied")).to_be_visible()
    link = reader.page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(reader.page.evaluate("location.origin"))
    assert "snapshot=" in link


#: The task could not be done at 9013866, or was not counted there.
NOT_POSSIBLE, NOT_COUNTED = "not possible", "not counted"


@dataclass(frozen=True)
class Task:
    """A task, its title and its clicks at commit 9013866, before there was a page Overview."""

    title: str
    do: Callable[[Reader], None]
    before: int | str = NOT_COUNTED


TASKS = (
    Task("a head that looks at the previous token", find_head, 4),
    Task("where “not” attends in a typed sentence", see_attention, 3),
    Task("sentences in which a head attends to [SEP] least", find_least, NOT_POSSIBLE),
    Task("positive beside negative reviews, for one statistic", compare_labels, NOT_POSSIBLE),
    Task("a link to exactly what is on screen", send, 1),
    Task("only heads above a threshold of a statistic", keep_heads_above),
    Task("only the strongest line of a point (top-N)", draw_one_line_per_token),
    Task("three pairs of one query, each in a colour", mark_pairs),
    Task("attention from sentence A to sentence B alone", see_directions),
    Task("UMAP with another seed", try_seed),
    Task("another review at every place in the model", read_review),
    Task("before and after fine-tuning", compare_models),
    Task("attention between whole words", see_whole_words),
    Task("parsing from attention alone (UAS)", read_uas),
    Task("coreference", read_coreference),
)


def tasks(store: str, address: str | None = None) -> None:
    """Do every task on a store, from page Overview, by mouse and by keyboard; or on a running server."""
    if address is None:
        with production_server(store) as served:
            return tasks(store, served)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        rows = [_row(browser, address, task) for task in TASKS]
    columns = ("", "clicks at 9013866", "clicks", "keys", "texts typed", "screens scrolled", "seconds, by mouse")
    return show("Tasks of a newcomer, from page Overview (Tab and arrow keys count as keys)", columns, rows)


def _row(browser: Browser, address: str, task: Task) -> tuple[str, ...]:
    (mouse, seconds), (keyboard, _) = (_done(browser, address, task, kind) for kind in (Mouse, Keyboard))
    counts = (task.before, mouse.presses, keyboard.presses, mouse.typed, mouse.screens)
    return task.title, *map(str, counts), f"{seconds:.1f}"


def _done(browser: Browser, address: str, task: Task, kind: Callable[[Page], Reader]) -> tuple[Reader, float]:
    """The reader who has done the task, and the seconds until its last check has passed."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, permissions=CLIPBOARD)
    context.add_init_script(GOT_IT)
    page = context.new_page()
    page.goto(address)
    wait_until_complete(page)
    reader, began = kind(page), time.perf_counter()
    task.do(reader)
    seconds = time.perf_counter() - began
    context.close()
    return reader, seconds
