"""A legend's words as lines of a saved picture."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

from tests.scripts import of_points


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    with of_points(chromium, "paragraphs") as page:
        yield page


#: Words as wide as their letters are many, in groups, and the lines that are made of them.
LINES = """(groups, width, apart) => headscape.paragraphs.lines(
  groups.map((group) => group.split(" ").map((word) => ({ word }))), width, { wide: ({ word }) => word.length, apart },
)"""


def lines_of(page: Page, groups: list[str], width: int, apart: int) -> list[list[dict[str, object]]]:
    found = page.evaluate(f"([groups, width, apart]) => ({LINES})(groups, width, apart)", [groups, width, apart])
    return [[*line] for line in found]


def test_an_entry_that_fits_on_a_line_is_not_broken(page: Page) -> None:
    lines = lines_of(page, ["one two", "three four", "five"], 18, 3)
    assert [[piece["word"] for piece in line] for line in lines] == [["one", "two"], ["three", "four"], ["five"]]


def test_an_entry_longer_than_a_line_is_broken_between_words(page: Page) -> None:
    lines = lines_of(page, ["one two three"], 9, 3)
    assert [[piece["word"] for piece in line] for line in lines] == [["one"], ["two"], ["three"]]


@given(st.lists(st.text("ab ", min_size=1, max_size=30).map(str.split).filter(bool).map(" ".join), max_size=12))
def test_every_word_is_on_a_line_in_order_and_none_reaches_over(page: Page, groups: list[str]) -> None:
    lines = lines_of(page, groups, 40, 5)
    assert [piece["word"] for line in lines for piece in line] == " ".join(groups).split()
    assert all(piece["left"] + len(piece["word"]) <= 40 for line in lines for piece in line)  # type: ignore[operator, arg-type]
    assert all(one["left"] + len(one["word"]) < other["left"] for line in lines for one, other in pairwise(line))  # type: ignore[operator, arg-type]
