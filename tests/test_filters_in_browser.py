"""Filters in a browser: added from a menu, moved by the keyboard, removed; counts against numpy."""

import re

import numpy as np
import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from store import Corpus
from store.schema.corpus import PUNCTUATION
from tests.browser import Visit, choose, closed, drawn

POSITION = "position"
PATH = "/head?layer=1&head=0"


@pytest.fixture
def head(visit: Visit, space_server: str) -> Page:
    return drawn(visit(space_server + PATH))


def counted(page: Page, selected: np.ndarray) -> None:
    """Wait until the page counts the selected points of a mask (token, role)."""
    expect(page.locator(".count")).to_contain_text(f"{selected.sum():,} of {selected.size:,} drawn queries and keys")


def pick(page: Page, column: str, *categories: str) -> None:
    """Choose categories of a filter on the page."""
    page.get_by_role("textbox", name=f"Filter {column}").click()
    for category in categories:
        page.get_by_role("option", name=re.compile(f"^{re.escape(category)} \\(")).click()
    page.keyboard.press("Escape")


def of_tokens(values: np.ndarray) -> np.ndarray:
    return np.stack([values, values], axis=-1)


def test_controls_stand_by_their_labels_and_filters_are_added_from_the_menu_and_every_one_must_hold(
    head: Page, space: Corpus
) -> None:
    controls_stand_by_their_labels(head)
    filters_are_added(head, space)


def filters_are_added(head: Page, space: Corpus) -> None:
    """A filter of tokens and a filter of the data are added; a selected token meets both."""
    choose(head, "Filter", "token type")
    pick(head, "token type", "full stop or comma")
    punctuation = space.tokens.token_flags.values[space.rows] == PUNCTUATION
    counted(head, of_tokens(punctuation))
    expect(head.locator(".frame")).to_have_attribute("data-masked", re.compile("where=kind"))
    choose(head, "Filter", "genre")
    pick(head, "genre", "war")
    (genre,) = space.columns.values()
    codes = genre.values[space.tokens.sentence_index.values[space.rows]]
    counted(head, of_tokens(punctuation & (codes == genre.attrs["names"].index("war"))))


def test_the_keyboard_moves_the_ends_of_a_range(head: Page, space: Corpus) -> None:
    choose(head, "Filter", POSITION)
    closed(head)
    low, high = head.get_by_role("slider", name=f"{POSITION} from"), head.get_by_role("slider", name=f"{POSITION} to")
    position = space.tokens.position.values[space.rows]
    low.press("ArrowRight")
    counted(head, of_tokens(position >= 1))
    expect(low).to_be_focused()
    low.press("ArrowRight")
    counted(head, of_tokens(position >= 2))
    high.press("ArrowLeft")
    counted(head, of_tokens((position >= 2) & (position < position.max())))


def test_an_end_of_a_range_that_is_not_moved_stays_open(visit: Visit, space_server: str, space: Corpus) -> None:
    page = drawn(visit(f"{space_server}{PATH}&where=entropy:"))
    page.get_by_role("slider", name="entropy from").press("ArrowRight")
    page.wait_for_url(re.compile(r"where=entropy(:|%3A)[\d.]+\.\.$"))
    least = float(page.url.rpartition("entropy")[2].removeprefix("%3A").strip(":."))
    counted(page, of_tokens(space.token_statistic.sel(statistic="entropy").values[1, 0, space.rows] >= least))
    page.get_by_role("slider", name="entropy from").press("ArrowLeft")
    page.wait_for_url(re.compile(r"where=entropy(:|%3A)$"))


@pytest.mark.slow
def test_a_filter_is_removed_alone_and_with_everything_that_selects_points(
    visit: Visit, space_server: str, space: Corpus
) -> None:
    page = drawn(visit(f"{space_server}{PATH}&where=position:2..4;role:key;label:positive"))
    page.get_by_role("button", name="Remove filter review label").click()
    position = space.tokens.position.values[space.rows]
    within = (position >= 2) & (position <= 4)
    counted(page, np.stack([np.zeros_like(within), within], axis=-1))
    lasso = "lasso=pca-exact-2d,1,0,0,0,100,100,900,100,900,900"
    page = drawn(visit(f"{space_server}{PATH}&where=position:2..4&q=fil&within=prefix&{lasso}"))
    page.get_by_role("button", name="Clear all").click()
    expect(page.locator(".frame")).to_have_attribute("data-masked", "")
    expect(page.get_by_role("textbox", name="Search")).to_have_value("")
    expect(page).not_to_have_url(re.compile("where|q=|within|lasso"))
    expect(page.locator(".count")).to_be_empty()


def place(part: Locator) -> FloatRect:
    box = part.bounding_box()
    assert box is not None
    return box


def controls_stand_by_their_labels(head: Page) -> None:
    """A switch stands nearer to its own label than to the next, and an (i) on the line of its label."""
    sizes, beside = (head.locator(".switch", has_text=name) for name in ("size by norm", "contours"))
    own, other = (place(switch.locator(".mantine-Switch-track")) for switch in (sizes, beside))
    text = place(sizes.get_by_text("size by norm"))
    assert 2 * (text["x"] - own["x"] - own["width"]) < other["x"] - text["x"] - text["width"]
    label, about = (place(head.locator(f".explained {part}").first) for part in ("label", ".info"))
    assert abs(label["y"] + label["height"] / 2 - about["y"] - about["height"] / 2) < 2


def test_filters_of_what_heads_do_differ_from_head_to_head(visit: Visit, space_server: str, space: Corpus) -> None:
    page = drawn(visit(f"{space_server}/heads?where=entropy:1..1.5"))
    entropy = space.token_statistic.sel(statistic="entropy").values[..., space.rows]
    each = 2 * ((entropy >= 1) & (entropy <= 1.5)).sum(axis=-1)
    expect(page.locator(".count")).to_contain_text(f"{round(each.mean()):,} of {2 * len(space.rows):,} drawn")
    expect(page.locator(".count")).to_contain_text("mean over heads")
