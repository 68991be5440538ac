"""Two models whose heads have no counterparts: pages do not set numbers of single heads side by side."""

from urllib.parse import urlencode

import numpy as np
import pytest

from dashboard.compare.sentences import NAMED, about_axes, named_every, pattern_matrix
from dashboard.compare.two_models import ModelPair
from dashboard.pages import TOPICS, picture_of
from dashboard.statistics.data import difference_grid
from dashboard.ui.markup import Page
from dashboard.ui.text import signed
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore


def context(store: str, two: ModelPair, **more: str) -> Context:
    return resolve(
        ServedStore(store), "compare", f"?{urlencode({'model': two.own.name, 'other': two.other.name, **more})}"
    )


def written(page: Page) -> str:
    return str([*page.above, *page.below])


@pytest.mark.parametrize("pictures", ["head", "point"])
def test_only_what_needs_no_counterparts_is_offered(three_models: str, unlike: ModelPair, pictures: str) -> None:
    here = context(three_models, unlike, pictures=pictures)
    page = written(TOPICS["compare"].layout(here))
    assert "their heads have no counterparts" in page
    for offered in ("means-over-heads", "Matching heads", "Places in both models", "Means over all heads"):
        assert offered in page
    for of_heads in (
        "pattern-this",
        "pattern-difference",
        "sentence-in-both",
        "Pictures of",
        "'choose': 'head'",
        "changed most",
    ):
        assert of_heads not in page


def test_the_canvas_shows_no_head_of_them(three_models: str, unlike: ModelPair, alike: ModelPair) -> None:
    shown = picture_of(context(three_models, unlike))
    assert shown is not None
    assert "/features/" in shown.points
    shown = picture_of(context(three_models, alike))
    assert shown is not None
    assert "/features/" not in shown.points


def test_heads_with_counterparts_are_compared(three_models: str, alike: ModelPair) -> None:
    page = written(TOPICS["compare"].layout(context(three_models, alike)))
    for offered in ("pattern-difference", "Pictures of", "changed most"):
        assert offered in page


# -- axes and signs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tokens", "step"), [(1, 1), (NAMED, 1), (NAMED + 1, 2), (52, 3), (128, 8)])
def test_axes_of_a_long_sentence_name_some_of_its_tokens(tokens: int, step: int) -> None:
    pieces = [f"token{number}" for number in range(tokens)]
    axis = pattern_matrix(np.eye(tokens), pieces, most=1.0).layout.xaxis
    assert named_every(tokens) == step
    assert list(axis.ticktext) == pieces[::step]
    assert axis.showticklabels is not False


def test_a_wordpiece_in_angle_brackets_is_a_label_and_no_tag() -> None:
    axis = pattern_matrix(np.eye(2), ("<s>", "film"), most=1).layout.xaxis
    assert list(axis.ticktext) == ["&lt;s&gt;", "film"]


def test_the_caption_says_that_an_axis_is_thinned() -> None:
    assert about_axes(NAMED) == []
    assert "The axes name one token in 2." in str(about_axes(NAMED + 1))


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (-0.04, 1, "0.0"),
        (0.04, 1, "0.0"),
        (-0.0, 2, "0.00"),
        (-0.06, 1, "−0.1"),
        (1.25, 1, "+1.2"),
        (float("nan"), 1, ""),
    ],
)
def test_a_difference_that_rounds_to_zero_has_no_sign(value: float, digits: int, text: str) -> None:
    assert signed(value, digits) == text


def test_cells_of_a_difference_are_never_minus_nothing() -> None:
    grid = difference_grid(np.array([[0.5, 0.2]]), np.array([[0.50001, 0.1]]), "to_sep", "that of another")
    assert grid.written == [["0.0", "+10.0"]]
