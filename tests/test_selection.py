"""Selections against searches spelled out in Python, and links that hold them."""

import struct
from math import cos, radians, sin

import numpy as np
import pytest
from dash import html
from hypothesis import given
from hypothesis import strategies as st

from dashboard.points.controls import filter_row, read_filters
from dashboard.points.head_tokens import HeadTokens, column_of, columns
from dashboard.points.lasso import Lasso, Outline, inside, on_screen
from dashboard.points.point_set import (
    MOST_CATEGORIES,
    Condition,
    Selection,
    encode,
    mask,
    parse_conditions,
    parse_selection,
    values,
    write_conditions,
)
from store import Corpus

TOKENS = 90


@pytest.fixture
def drawn(two_views: Corpus) -> HeadTokens:
    return HeadTokens(two_views, TOKENS, 1, 0)


def where(corpus: Corpus, text: str) -> Selection:
    conditions, notices = parse_conditions(text, columns(corpus))
    assert notices == []
    return Selection(where=conditions)


# -- masks ----------------------------------------------------------------------------------------------


def test_a_condition_on_a_number_takes_both_ends(drawn: HeadTokens) -> None:
    norm = values(column_of(drawn.corpus, "norm"), drawn)
    low, high = np.sort(norm.ravel())[[20, 60]]
    selected = mask(drawn, Selection(where=(Condition("norm", (), low, high),)))
    np.testing.assert_array_equal(selected, (norm >= low) & (norm <= high))
    assert selected.sum() == 41


def test_one_of_several_categories_suffices_but_every_condition_must_hold(drawn: HeadTokens) -> None:
    selected = mask(drawn, where(drawn.corpus, "kind:word|symbol;position:..3;role:key"))
    flags, position = drawn.of_tokens("token_flags"), drawn.of_tokens("position")
    expected = ((flags == 0) | (flags == 32)) & (position <= 3)
    np.testing.assert_array_equal(selected[0], np.stack([np.zeros_like(expected), expected], axis=-1))


def test_a_condition_on_heads_selects_other_points_in_each(two_views: Corpus) -> None:
    drawn = HeadTokens(two_views, TOKENS)
    selected = mask(drawn, where(two_views, "entropy:1..2"))
    assert selected.shape == (4, TOKENS, 2)
    assert len({panel.tobytes() for panel in selected}) == 4


@pytest.mark.parametrize("view", [0, 1])
def test_a_lasso_selects_the_same_points_in_every_head(two_views: Corpus, view: int) -> None:
    lasso = Lasso(two_views.views[view], 1, 0, Outline(30, 320, ((200, 200), (700, 250), (500, 800))))
    every = mask(HeadTokens(two_views, TOKENS), Selection(lasso=lasso))
    selected = mask(HeadTokens(two_views, TOKENS, 0, 1), Selection(lasso=lasso))
    np.testing.assert_array_equal(every, selected)
    places = HeadTokens(two_views, TOKENS, 1, 0).places(two_views.views[view])[0]
    np.testing.assert_array_equal(selected[0], lasso.holds(places))
    assert 0 < selected.sum() < selected.size


def test_a_token_without_a_number_meets_no_condition(drawn: HeadTokens) -> None:
    selected = mask(drawn, where(drawn.corpus, "token_length:0.."))
    assert not selected[0, 0].any()


def test_an_empty_selection_selects_everything(drawn: HeadTokens) -> None:
    assert not Selection()
    assert mask(drawn, Selection()).all()


def test_a_mask_travels_as_bits(drawn: HeadTokens) -> None:
    selected = mask(drawn, where(drawn.corpus, "kind:word"))
    sent = encode(selected)
    assert sent[:4] == b"HSM2"
    assert struct.unpack("<3I", sent[4:16]) == (1, TOKENS, 2)
    bits = "".join(f"{byte:08b}" for byte in sent[16:])
    assert bits[: 2 * TOKENS] == "".join("01"[int(bit)] for bit in selected.ravel())


# -- polygons -------------------------------------------------------------------------------------------


def crosses(x: float, y: float, polygon: np.ndarray) -> bool:
    """Whether a ray to the right meets an odd number of edges, one point at a time."""
    odd = False
    for (x1, y1), (x2, y2) in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
        if (y1 > y) != (y2 > y) and x < x1 + (y - y1) * (x2 - x1) / (y2 - y1):
            odd = not odd
    return odd


@given(corners=st.integers(3, 9), seed=st.integers(0, 99))
def test_points_in_a_polygon_are_those_with_odd_crossings(corners: int, seed: int) -> None:
    choose = np.random.default_rng(seed)
    points, polygon = choose.random((50, 2)), choose.integers(-200, 1200, (corners, 2)) / 1000
    assert inside(points, polygon).tolist() == [crosses(x, y, polygon) for x, y in points]


def test_what_is_enclosed_twice_is_outside() -> None:
    star = np.array([(np.sin(4 * np.pi * k / 5), np.cos(4 * np.pi * k / 5)) for k in range(5)])
    assert inside(np.array([[0.0, 0.0], [0.0, 0.8], [2.0, 0.0]]), star).tolist() == [False, True, False]


def test_a_turned_cube_is_seen_as_the_canvas_draws_it() -> None:
    x, y, z = 0.9 - 0.5, 0.2 - 0.5, 0.6 - 0.5
    yaw, pitch = radians(30), radians(-20)
    across, depth = cos(yaw) * x + sin(yaw) * z, -sin(yaw) * x + cos(yaw) * z
    up = cos(pitch) * y - sin(pitch) * depth
    seen = on_screen(np.array([0.9, 0.2, 0.6]), yaw=30, pitch=-20)
    assert seen == pytest.approx([across + 0.5, up + 0.5])


def test_a_flat_picture_is_never_turned() -> None:
    np.testing.assert_array_equal(on_screen(np.array([0.9, 0.2]), yaw=30, pitch=-20), [0.9, 0.2])


# -- links ----------------------------------------------------------------------------------------------

whole = st.integers(0, 1000)
lassos = st.builds(
    Lasso,
    view=st.sampled_from(["pca-exact-2d", "pca-exact-3d"]),
    layer=st.integers(0, 1),
    head=st.integers(0, 1),
    outline=st.builds(
        Outline,
        yaw=st.integers(0, 359),
        pitch=st.integers(0, 359),
        corners=st.lists(st.tuples(whole, whole), min_size=3, max_size=6).map(tuple),
    ),
)
ends = st.none() | st.floats(allow_nan=False, allow_infinity=False)
ranges = st.builds(Condition, st.sampled_from(["norm", "position", "given"]), st.just(()), ends, st.floats(-9, 9))
categories = st.sampled_from(
    [Condition("kind", ("[CLS]", "full stop or comma")), Condition("data.genre", ("war",)), Condition("review", ("7",))]
)
selections = st.builds(
    Selection,
    q=st.text(max_size=20).map(lambda text: " ".join(text.split())).filter(bool),
    within=st.sampled_from(["token", "prefix", "phrase"]),
    where=st.lists(ranges | categories, max_size=4).map(tuple),
    lasso=st.none() | lassos,
)


@given(selection=selections)
def test_a_selection_comes_back_from_its_link(two_views: Corpus, selection: Selection) -> None:
    assert parse_selection(selection.fields, two_views, columns(two_views)) == (selection, ())


def test_categories_may_hold_what_separates_them() -> None:
    condition = Condition("data.genre", ("a|b;c:d", "1..2", "50 %"))
    assert write_conditions((condition,)) == "data.genre:a%7Cb%3Bc%3Ad|1..2|50%20%25"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"where": "beauty:1..2"}, "no column “beauty”"),
        ({"where": "norm:a..b"}, "no range"),
        ({"where": "norm:nan..2"}, "no range"),
        ({"where": "norm:.."}, "no range"),
        ({"where": "kind:unicorn"}, "token type has no “unicorn”"),
        ({"where": ";".join(["norm:1..2"] * 13)}, "at most 12 filters"),
        ({"q": "a", "within": "everything"}, "Ignored an invalid parameter: within=everything."),
        ({"q": "a" * 201}, "200 characters"),
        ({"lasso": "pca-exact-2d,0,0,0,0,1,1,2,2"}, "lasso"),
        ({"lasso": "pca-exact-2d,0,9,0,0,1,1,2,2,3,3"}, "lasso"),
        ({"lasso": "nonsense,0,0,0,0,1,1,2,2,3,3"}, "lasso"),
        ({"lasso": "pca-exact-2d,0,0,0,0,1,1,2,2,3,3e5"}, "lasso"),
    ],
)
def test_an_invalid_selection_is_ignored_with_a_notice(two_views: Corpus, fields: dict[str, str], says: str) -> None:
    _, notices = parse_selection(fields, two_views, columns(two_views))
    assert len(notices) == 1
    assert says in notices[0]


@pytest.mark.parametrize(
    ("text", "conditions_left", "notice"),
    [
        ("label:positive|negatve", "label:positive", "Ignored categories: review label has no “negatve”."),
        ("label:negatve", "", "Ignored a filter: review label has no “negatve”."),
        (
            f"kind:{'|'.join(['word', *map(str, range(MOST_CATEGORIES))])}",
            "kind:word",
            "at most 100 categories of token type",
        ),
    ],
)
def test_unknown_categories_are_ignored_with_a_notice(
    two_views: Corpus, text: str, conditions_left: str, notice: str
) -> None:
    conditions, notices = parse_conditions(text, columns(two_views))
    assert write_conditions(conditions) == conditions_left
    assert notice in notices[0]


@given(fields=st.dictionaries(st.sampled_from(["q", "in", "where", "lasso"]), st.text(max_size=60)))
def test_any_fields_of_a_link_make_a_selection(two_views: Corpus, fields: dict[str, str]) -> None:
    selection, notices = parse_selection(fields, two_views, columns(two_views))
    assert mask(HeadTokens(two_views, 30, 0, 0), selection).shape == (1, 30, 2)
    assert parse_selection(selection.fields, two_views, columns(two_views))[0] == selection
    assert all(notice.endswith(".") for notice in notices)


def test_every_column_can_be_filtered_by(drawn: HeadTokens) -> None:
    for name, column in columns(drawn.corpus).items():
        first = values(column, drawn).ravel()[-1]
        condition = (
            Condition(name, (column.category(int(first)),))
            if column.kind == "category"
            else Condition(name, (), float(first), float(first))
        )
        if first == first and first != -1:
            assert mask(drawn, Selection(where=(condition,)))[0, -1, 1], name


def test_a_filter_of_numbers_that_no_drawn_point_has_says_so(two_views: Corpus) -> None:
    (condition,) = where(two_views, "token_length:1..5").where
    offered = read_filters(HeadTokens(two_views, 1, 0, 0), [condition])
    assert "no point has a value" in str(filter_row(offered, html.P()))
