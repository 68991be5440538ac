"""A chosen point in a browser: its lines and keys, marks, nearest tokens of the corpus, and the keyboard's way to it."""

import re
from collections import Counter
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from store import Corpus
from tests.browser import (
    DRAWN,
    Open,
    Visit,
    blank,
    canvas_place,
    drawn,
    expect_title,
    followed,
    inked,
    picture,
    seen,
    until,
)

PATH = "/head?layer=1&head=0"
TOKEN = 12
#: Place of a token's query in the picture, 0..1 from the upper left.
PLACE = """(async (token) => {
  const { decodePoints } = await import("/assets/canvas/painter.mjs");
  const source = document.querySelector(".frame").dataset.drawn;
  const { places, most } = decodePoints(await (await fetch(source)).arrayBuffer());
  return [places[4 * token] / most, 1 - places[4 * token + 1] / most];
})"""
#: Lines of the clicked point, number of lines that its card covers, and whether the card is inside the frame, below the controls.
CARD = """(async () => {
  const frame = document.querySelector(".frame");
  const asked = new URLSearchParams(location.search);
  if (!frame.dataset.overlay.includes(`/${asked.get("role")}/${asked.get("token")}.json`)) return {};
  const { places, position, lines } = await (await fetch(frame.dataset.overlay)).json();
  const within = frame.getBoundingClientRect();
  const card = document.querySelector(".points .tip").getBoundingClientRect();
  const role = asked.get("role") === "key" ? 1 : 0;
  const inWindow = ([x, y]) => [within.left + x * within.width, within.bottom - y * within.height];
  const covers = ([x, y]) => x >= card.left && x <= card.right && y >= card.top && y <= card.bottom;
  const own = lines.filter((edge) => edge[role] === position).map(([query, key]) => [inWindow(places[query][0]), inWindow(places[key][1])]);
  const along = ([[x0, y0], [x1, y1]]) => Array.from({ length: 101 }, (_, i) => [x0 + (i / 100) * (x1 - x0), y0 + (i / 100) * (y1 - y0)]);
  const bottom = Math.min(within.bottom, innerHeight);
  const inside = card.left >= within.left && card.top >= within.top && card.right <= within.right && card.bottom <= bottom;
  return { lines: own.length, covered: own.filter((line) => along(line).some(covers)).length, inside };
})"""


@pytest.fixture
def head(visit: Visit, space_server: str) -> Page:
    return drawn(visit(space_server + PATH))


@pytest.fixture
def chosen(visit: Visit, space_server: str) -> Page:
    """The page of a head on which a query is selected."""
    return drawn(visit(f"{space_server}{PATH}&token={TOKEN}"))


def pattern_of(corpus: Corpus, token: int) -> tuple[np.ndarray, int]:
    """The pattern of a token's sentence in the shown head, and the token's place in the sentence."""
    row = int(corpus.rows[token])
    sentence = int(corpus.tokens.sentence_index.values[row])
    return corpus.pattern(sentence, layer=1, head=0).values, int(corpus.tokens.position.values[row])


def expected_lines(weights: np.ndarray, top: int, least: float) -> list[int]:
    """Positions to which a token attends most, with at least `least` weight."""
    return [int(key) for key in np.argsort(-weights, kind="stable")[:top] if weights[key] >= least]


def lines_of(page: Page) -> list[tuple[int, int, str]]:
    """Query position, key position and weight of each row of the table beside the picture."""
    rows = [
        row.split("\t")
        for row in table(page, "Strongest weights in its sentence").locator("tbody tr").all_inner_texts()
    ]
    return [(int(row[0].split(":")[0]), int(row[1].split(":")[0]), row[2].strip()) for row in rows]


def table(page: Page, title: str) -> Locator:
    """The table below a heading beside the picture, once it is there."""
    table = page.get_by_role("heading", name=title).locator("xpath=following::table[1]")
    expect(table).to_be_visible()
    return table


def click_query(page: Page, token: int) -> None:
    page.mouse.click(*canvas_place(page, *page.evaluate(f"{PLACE}({token})")))
    expect(page.locator(".frame")).to_have_attribute("data-overlay", re.compile("/focus/"))


def field_of_link(page: Page, field: str) -> str:
    return parse_qs(urlparse(page.url).query)[field][0]


def test_a_click_on_a_point_shows_its_strongest_keys_uncovered_until_escape_by_the_keyboard_that_stays(
    head: Page, space: Corpus
) -> None:
    click_query(head, TOKEN)
    card_covers_nothing(head)  # lines are drawn only once the card is placed
    token, role = int(field_of_link(head, "token")), field_of_link(head, "role")
    pattern, position = pattern_of(space, token)
    weights = pattern[position] if role == "query" else pattern[:, position]
    expected = [
        (position, other, f"{100 * weights[other]:.1f}%")
        if role == "query"
        else (other, position, f"{100 * weights[other]:.1f}%")
        for other in expected_lines(weights, 2, 0.05)
    ]
    expect(head.get_by_role("tab", name="Point")).to_have_attribute("aria-selected", "true")
    assert sorted(lines_of(head)) == sorted(expected)
    inked(head, least=500)
    expect(head.locator(DRAWN)).to_be_focused()
    with followed(head):
        click_query(head, 3)
    card_covers_nothing(head)
    for _ in range(2):
        head.keyboard.press("Escape")
    expect(head).not_to_have_url(re.compile("token="))
    blank(head)


def card_covers_nothing(page: Page) -> None:
    """Wait until the card of a point covers neither lines of the point nor controls."""
    expect(page.locator(".points .tip")).to_be_visible()
    until(page, f"({CARD})().then(({{ lines, covered, inside }}) => lines > 0 && covered === 0 && inside)")


@pytest.mark.slow
def test_how_many_lines_of_which_queries_and_weights_is_a_choice(chosen: Page, space: Corpus) -> None:
    pattern, position = pattern_of(space, TOKEN)
    rows = table(chosen, "Strongest weights in its sentence").locator("tbody tr")
    limits = {"top": 2.0, "least": 0.05}
    for field, label, value in (("top", "lines per token", "5"), ("least", "minimum weight", "0.1")):
        chosen.get_by_role("textbox", name=label).fill(value)
        expect(chosen.locator(".frame")).to_have_attribute("data-overlay", re.compile(f"{field}={value}(&|$)"))
        limits[field] = float(value)
        expected = expected_lines(pattern[position], int(limits["top"]), limits["least"])
        expect(rows).to_have_count(len(expected))
        assert [key for _, key, _ in lines_of(chosen)] == expected
    before = picture(chosen)
    chosen.get_by_text("whole sentence", exact=True).click()
    expect(chosen.get_by_role("heading", name="Strongest weights in its sentence, all queries")).to_be_visible()
    lines = {(query, key) for query, row in enumerate(pattern) for key in expected_lines(row, 5, 0.1)}
    assert {(query, key) for query, key, _ in lines_of(chosen)} == lines
    expect(chosen.locator(".frame")).to_have_attribute("data-overlay", re.compile("lines=sentence"))
    seen(chosen, lambda shown: bool((shown != before).any()))
    chosen.get_by_role("textbox", name="minimum weight").fill("1")
    expect(chosen.get_by_text("No weight in this sentence reaches 1.")).to_be_visible()


def test_a_pair_is_marked_the_nearest_keys_have_the_largest_logits_and_a_piece_of_the_sentence_leads_to_its_point(
    chosen: Page, space: Corpus
) -> None:
    has_the_nearest_keys(chosen, space)
    marks_a_pair(chosen)
    _, position = pattern_of(space, TOKEN)
    chosen.get_by_title(f"position {position - 1}", exact=True).click()
    expect(chosen).to_have_url(re.compile(f"token={TOKEN - 1}(&|$)"))


def marks_a_pair(chosen: Page) -> None:
    """A click marks a pair, another click unmarks it."""
    before = picture(chosen)
    query, key, _ = lines_of(chosen)[0]
    chosen.get_by_role("link", name="show", exact=True).first.click()
    expect(chosen).to_have_url(re.compile(f"marks={query}-{key}"))
    expect(chosen.get_by_role("link", name="hide")).to_have_count(1)
    seen(chosen, lambda shown: bool((shown != before).any()))
    chosen.get_by_role("link", name="hide").click()
    expect(chosen).not_to_have_url(re.compile("marks="))


def has_the_nearest_keys(chosen: Page, space: Corpus) -> None:
    query = space.query[1, 0].values[space.rows[TOKEN]].astype(np.float64)
    logits = space.key[1, 0].values[space.rows].astype(np.float64) @ query / np.sqrt(len(query))
    pieces, expected = space.wordpieces(space.rows), []
    for token in np.argsort(-logits, kind="stable"):
        if [piece for piece, _ in expected].count(pieces[token]) < 3 and len(expected) < 10:
            expected.append((pieces[token], logits[token]))
    rows = table(chosen, "Highest-scoring").locator("tbody tr:not(:first-child)").all()
    marked = [
        (row.locator("mark").text_content(), float(row.locator(".number").inner_text().replace("−", "-")))
        for row in rows
    ]
    largest = sorted(marked, key=lambda row: -row[1])
    assert Counter(piece for piece, _ in largest) == Counter(piece.removeprefix("##") for piece, _ in expected)
    np.testing.assert_allclose([score for _, score in largest], [score for _, score in expected], atol=0.0051)


def test_the_keyboard_alone_goes_from_all_heads_to_a_sentence(open_page: Open, space_server: str) -> None:
    page = drawn(open_page(f"{space_server}/heads", motion="reduce"))
    tab_to(page, "document.activeElement.matches('.frame')")
    for key in ("ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect_title(page, "Queries and keys of L0 H1")
    expect(page.locator('.frame[data-drawn*="/0/1.bin"]')).to_be_focused()
    page.keyboard.press("p")
    expect(page.locator(".points .tip")).to_be_visible()
    for key in ("Shift+ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".frame")).to_have_attribute("data-overlay", re.compile("/focus/"))
    expect(page.locator(".frame")).to_be_focused()
    before = field_of_link(page, "token")
    expect(page.locator(".piece.here")).to_be_visible()
    tab_to(page, "document.activeElement.matches('.piece:not(.here)')")
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(re.compile(f"token={before}(&|$)"))


def tab_to(page: Page, condition: str) -> None:
    """Press Tab until the focused element meets the condition, past the navigation."""
    for _ in range(60):
        if page.evaluate(condition):
            return
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.skip')"):
            page.keyboard.press("Enter")
    raise AssertionError(f"No Tab leads to where {condition}")


def test_a_click_on_points_that_are_not_there_yet_is_answered_when_they_come(head: Page) -> None:
    page = head
    x, y = page.evaluate(f"({PLACE})({TOKEN})")
    routes: list[Route] = []
    page.route("**/points/**", lambda route: routes.append(route))
    page.reload()
    expect(page.locator(".frame[aria-busy]")).to_be_visible()
    expect(page.get_by_role("tab", name="Statistics")).to_be_visible()
    page.mouse.click(*canvas_place(page, x, y))
    expect(page.locator(".points .announcement").first).to_have_text("The points are on their way. The click is kept.")
    for route in routes:
        route.continue_()
    expect(page).to_have_url(re.compile("token="))
    page.unroute_all(behavior="wait")
