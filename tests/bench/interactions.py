"""How long each kind of interaction takes on the pages of a store, from the input until the page has settled."""

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from playwright.sync_api import Error, Locator, Page, sync_playwright

from tests.bench.browser import production_server
from tests.bench.complete_page import wait_until_complete
from tests.bench.settled import OBSERVE, settle
from tests.bench.table import show
from tests.browser import CHROMIUM, FLAGS, GOT_IT, canvas_place

#: Rounds of a median, after one that warms the server; seconds of rest before each; the limit in milliseconds.
ROUNDS, REST, LIMIT = 3, 0.8, 300
#: Milliseconds until a control or other target must be on the page.
PATIENCE = 15_000
Act = Callable[[Page, int], None]


@dataclass(frozen=True)
class Interaction:
    """An action of a reader on a page, which differs from round to round."""

    page: str
    name: str
    act: Act


def choosing(control: str, *options: str) -> Act:
    """Choose the options of a control in turn."""

    def act(page: Page, turn: int) -> None:
        page.get_by_role("textbox", name=control, exact=True).first.click()
        beginning = re.compile(f"^{re.escape(options[turn % len(options)])}(?:$| \\()")  # a count may follow
        page.get_by_role("option", name=beginning).first.click()

    return act


def writing(box: str, *texts: str) -> Act:
    """Type texts into a box in turn, and Enter."""

    def act(page: Page, turn: int) -> None:
        field = page.get_by_role("textbox", name=box, exact=True)
        field.fill(texts[turn % len(texts)])
        field.press("Enter")

    return act


def clicking(find: Callable[[Page, int], Locator]) -> Act:
    """Click the element that `find` gives for a round."""
    return lambda page, turn: find(page, turn).click()


def pressing(selector: str, *keys: str) -> Act:
    """Press keys on an element in turn."""
    return lambda page, turn: page.locator(selector).first.press(keys[turn % len(keys)])


def click_point(page: Page, turn: int) -> None:
    """Click a place among the points."""
    page.mouse.click(*canvas_place(page, 0.5 + 0.03 * turn, 0.5))


def click_dot(page: Page, turn: int) -> None:
    """Click a head of the map by its place, as an area above the dots takes the clicks."""
    place = page.locator("#head-map .scatterlayer .points path").nth(9 + 7 * turn).bounding_box()
    assert place is not None
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)


def switch(label: str) -> Act:
    """Turn a switch on and off."""
    return clicking(lambda page, _: page.locator("label").filter(has_text=label).first)


def tab(page: Page, turn: int) -> Locator:
    """Another tab of page Head."""
    return page.get_by_role("tab").nth(1 + turn % 4)


def opening(title: str) -> Act:
    """Open a page from page Store."""

    def act(page: Page, _: int) -> None:
        page.locator("#navigation").get_by_role("link", name="Store", exact=True).click()
        settle(page)
        time.sleep(REST)
        page.locator("#navigation").get_by_role("link", name=title, exact=True).click()

    return act


OPENED = ("Overview", "Heads", "Head", "Statistics", "Head map", "Relations", "Features", "Sentence", "Compare")
INTERACTIONS = (
    *(Interaction("store", f"open page {title}", opening(title)) for title in OPENED),
    Interaction("heads", "colour", choosing("Colour", "position", "token type", "query or key")),
    Interaction("heads", "search", writing("Search", "movie", "film", "actor", "music", "plot", "scene")),
    Interaction("heads", "size by norm", switch("size by norm")),
    Interaction("heads", "label", choosing("Label", "broad", "any")),
    Interaction("heads", "sort heads", choosing("Order", "attention entropy", "attention to [CLS]")),
    Interaction("heads", "projection", choosing("Projection", "PCA", "Trained on attention")),
    Interaction("head?layer=2&head=2", "next head, by key", pressing(".frame", "ArrowRight")),
    Interaction("head?layer=2&head=2", "layer", choosing("Layer", "3", "2")),
    Interaction("head?layer=2&head=2", "tab", clicking(tab)),
    Interaction("head?layer=2&head=2", "click a point", click_point),
    Interaction("head?layer=2&head=2", "colour", choosing("Colour", "position", "token type", "query or key")),
    Interaction("head?layer=2&head=2", "search", writing("Search", "movie", "film", "actor", "music", "plot", "scene")),
    Interaction("statistics", "statistic", choosing("Statistic", "attention to [CLS]", "attention to [SEP]")),
    Interaction("statistics", "queries", choosing("Mean over", "[CLS] only", "all queries")),
    Interaction("statistics", "ranks", choosing("Show", "ranks", "values")),
    Interaction("statistics", "sort the table", clicking(lambda page, turn: page.locator("button.sort").nth(1 + turn % 5))),
    Interaction("statistics", "heads by name", writing("Name", "L1", "L2", "L3", "L4", "L5", "L0")),
    Interaction("map", "colour", choosing("Colour", "label", "layer")),
    Interaction("map", "select a head", choosing("Head", "3", "4", "5", "6", "7", "8")),
    Interaction("map", "click a dot", click_dot),
    Interaction("relations", "direction", choosing("Direction", "governor attends most to dependent", "dependent attends most to governor")),
    Interaction("relations", "sentences of a head", clicking(lambda page, turn: page.get_by_role("button", name="show", exact=True).nth(turn % 3))),
    Interaction("features", "colour", choosing("Colour", "position in the sentence", "token type")),
    Interaction("features", "search", writing("Search", "movie", "film", "actor", "music", "plot", "scene")),
    Interaction("sentence", "next sentence", clicking(lambda page, _: page.get_by_role("link", name="next sentence", exact=True))),
    Interaction("sentence", "view", choosing("View", "Matrix view", "Model view", "Head view")),
    Interaction("sentence", "layer", choosing("Layer", "1", "2", "3")),
    Interaction("sentence", "select a token", clicking(lambda page, turn: page.locator(".tokens.query .token").nth(2 + turn % 6))),
    Interaction("sentence", "whole words", switch("whole words")),
    Interaction("sentence", "find words", writing("Words", "movie", "film", "actor", "music", "plot", "scene")),
    Interaction("store", "light and dark", clicking(lambda page, _: page.get_by_role("button", name="Switch between light and dark"))),
)  # fmt: skip


def interactions(store: str, address: str | None = None) -> None:
    """Print a table of all interactions, slowest first, with the time to the first change; times beyond the limit are marked."""
    if address is None:
        with production_server(store) as served:
            return interactions(store, served)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.add_init_script(GOT_IT)
        context.add_init_script(OBSERVE)
        measured = [(each, *measure(context.new_page(), address, each)) for each in INTERACTIONS]
    title = f"Interactions, medians of {ROUNDS}, {REST} s of rest before each, load {os.getloadavg()[1]:.1f}"
    slowest_first = sorted(measured, key=lambda row: -row[2] if row[2] == row[2] else 0)
    rows = [(f"/{each.page}", each.name, *_times(first, last)) for each, first, last in slowest_first]
    return show(title, ("page", "interaction", "first change", "settled"), rows)


def measure(page: Page, address: str, interaction: Interaction) -> tuple[float, float]:
    """Medians of the milliseconds to the first and to the last change; NaN where the page lacks the target."""
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}/{interaction.page}")
    wait_until_complete(page)
    try:
        times = [_once(page, interaction, turn) for turn in range(ROUNDS + 1)][1:]
    except Error:
        times = [(float("nan"), float("nan"))]
    page.close()
    firsts, lasts = zip(*times, strict=True)
    return median(firsts), median(lasts)


def _once(page: Page, interaction: Interaction, turn: int) -> tuple[float, float]:
    time.sleep(REST)
    interaction.act(page, turn)
    return settle(page)


def _times(first: float, last: float) -> tuple[str, str]:
    if last != last:
        return "", "not measured"
    return f"{first:,.0f} ms", f"{last:,.0f} ms{' (beyond the limit)' if last > LIMIT else ''}"
