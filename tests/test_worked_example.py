"""The worked example of page Heads: a query and a key of the store that are near because of their weight."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from dashboard.points.head_tokens import HeadTokens
from dashboard.points.page import draw_heads
from dashboard.points.pairs import Criteria, WorkedExample, _are_near, worked_example
from dashboard.points.shown import ShownPoints
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store import Corpus
from tests.accessibility import is_accessible
from tests.browser import canvas_place, drawn, expect_title, until

TITLE = "How to read a panel"


Find = Callable[[Corpus], WorkedExample]


@pytest.fixture
def find_any() -> Find:
    """A finder that takes any pair of words as an example, as a random model has no large weights."""
    any_pair = Criteria(weight=0, near=1, apart=0, together=2, border=-1)

    def find(corpus: Corpus) -> WorkedExample:
        found = worked_example(corpus, corpus.views[0], any_pair)
        assert found is not None
        return found

    return find


@pytest.fixture
def example(find_any: Find, tiny_corpus: Corpus) -> WorkedExample:
    return find_any(tiny_corpus)


@pytest.fixture
def newcomer(chromium: Browser, tiny_server: str, example: WorkedExample) -> Iterator[Page]:
    """Page Heads in a browser that has never shown it; an error on the console fails the test."""
    errors: list[str] = []
    with chromium.new_context(viewport={"width": 1440, "height": 900}) as context:
        page = context.new_page()
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(f"{tiny_server}/heads")
        drawn(page)
        expect(page.get_by_text(f"(weight {example.weight:.2f})")).to_be_visible()
        yield page
    assert errors == []


def test_the_weight_is_that_of_the_store(example: WorkedExample, tiny_corpus: Corpus) -> None:
    sentence = int(tiny_corpus.tokens.sentence_index.values[tiny_corpus.rows[example.token]])
    pattern = tiny_corpus.pattern(sentence, layer=example.layer, head=example.head).values
    assert example.weight == pytest.approx(pattern[example.query, example.key], abs=0.005)


def test_the_dots_stand_where_the_picture_has_them(example: WorkedExample, tiny_corpus: Corpus) -> None:
    rows = tiny_corpus.rows[[example.token, example.token + example.key - example.query]]
    places = tiny_corpus.places(tiny_corpus.views[0], rows, layer=example.layer, head=example.head)
    np.testing.assert_allclose(example.query_place, places[0, 0], atol=1e-6)
    np.testing.assert_allclose(example.key_place, places[1, 1], atol=1e-6)


def test_a_key_that_is_far_or_hidden_is_no_example() -> None:
    keys = np.array([[0.5, 0.7], [0.1, 0.1]], np.float32)
    far, near, hidden = (np.array([[0.5, 0.5], key], np.float32) for key in ([0.9, 0.9], [0.5, 0.7], [0.5, 0.51]))
    assert [_are_near(pair, keys, Criteria()) for pair in (far, near, hidden)] == [False, True, False]


def test_without_an_example_there_is_no_way_to_it(tiny_store: str) -> None:
    context = resolve(ServedStore(tiny_store), "heads", "")
    page = draw_heads(ShownPoints.of(context, HeadTokens(context.corpus, 60)), None)
    assert TITLE not in str(page.above)
    assert "How to read this" not in str(page.above)


APART = """(card) => {
  const [one, other] = [card, document.querySelector("#points")].map((each) => each.getBoundingClientRect());
  return one.left >= other.right || one.top >= other.bottom;
}"""


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_the_example_covers_nothing_and_moves_nothing(newcomer: Page, size: tuple[int, int]) -> None:
    newcomer.set_viewport_size({"width": size[0], "height": size[1]})
    drawn(newcomer)
    card, got_it = newcomer.locator(".example"), newcomer.get_by_role("button", name="Got it")
    assert card.evaluate(APART)
    before = _places(newcomer)
    got_it.click()
    assert _places(newcomer) == before
    newcomer.reload()
    drawn(newcomer)
    before = _places(newcomer)
    newcomer.get_by_role("button", name="How to read this").click()
    expect(got_it).to_be_in_viewport()
    assert card.evaluate(APART)
    assert _places(newcomer) == before


def _places(page: Page) -> object:
    """Boxes of the picture and of the captions of the page."""
    each = "(part) => [part.offsetLeft, part.offsetTop, part.offsetWidth, part.offsetHeight]"
    return page.evaluate(f"[...document.querySelectorAll('#points, .frame, #below')].map({each})")


def test_the_first_visit_shows_three_accessible_steps_until_got_it_and_a_link_brings_them_back(newcomer: Page) -> None:
    card = newcomer.get_by_role("region", name=TITLE)
    expect(card.get_by_role("listitem")).to_have_count(3)
    expect(card.locator("mark")).to_have_count(2)
    before = newcomer.locator(".frame").bounding_box()
    newcomer.get_by_role("button", name="Got it").press("Enter")
    expect(card).to_be_hidden()
    assert newcomer.locator(".frame").bounding_box() == before
    expect(newcomer.get_by_role("button", name="How to read this")).to_be_focused()
    newcomer.keyboard.press("Enter")
    expect(newcomer.get_by_role("button", name="Got it")).to_be_focused()
    newcomer.keyboard.press("Escape")
    expect(card).to_be_hidden()
    newcomer.reload()
    drawn(newcomer)
    expect(card).to_be_hidden()
    newcomer.get_by_role("button", name="How to read this").click()
    expect(card).to_be_visible()
    newcomer.set_viewport_size({"width": 360, "height": 800})
    until(newcomer, "document.documentElement.scrollWidth <= 360")
    is_accessible(newcomer, within=f"[aria-label='{TITLE}']")
    newcomer.set_viewport_size({"width": 1440, "height": 900})
    drawn(newcomer)
    newcomer.mouse.click(*canvas_place(newcomer, 0.1, 0.25))
    expect_title(newcomer, "Queries and keys of L0 H0")
