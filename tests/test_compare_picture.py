"""Pictures of two models on one scale: against a known rotation and scipy's Procrustes."""

import numpy as np
import pytest
from scipy.spatial import procrustes
from scipy.stats import ortho_group

from dashboard.compare.two_models import ModelPair, both_places, drawn_of_both, on_one_scale, selected_in_both
from dashboard.points.head_tokens import columns
from dashboard.points.point_set import Selection, parse_selection


def cloud(components: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(60, 2, components)).astype(np.float32)


@pytest.mark.parametrize("components", [2, 3])
def test_a_picture_that_was_turned_mirrored_moved_and_scaled_lies_on_the_first(components: int) -> None:
    own = cloud(components)
    turn = ortho_group.rvs(components, random_state=4)
    aligned = on_one_scale(own, (3 * own @ turn + 7).astype(np.float32))
    np.testing.assert_allclose(aligned.places[1], aligned.places[0], atol=1e-4)
    assert aligned.apart < 1e-4


def test_another_picture_is_turned_as_scipy_turns_it() -> None:
    own, other = cloud(2), cloud(2, seed=1)
    places = on_one_scale(own, other).places.reshape(2, -1, 2).astype(np.float64)
    standardised, two, _ = procrustes(own.reshape(-1, 2), other.reshape(-1, 2))
    for drawn, expected in zip(places, (standardised, two), strict=True):
        centred = drawn - drawn.mean(axis=0)
        np.testing.assert_allclose(centred / np.linalg.norm(centred), expected / np.linalg.norm(expected), atol=1e-4)


def test_both_are_drawn_within_one_square_with_one_scale() -> None:
    own, other = cloud(2), cloud(2, seed=1)
    aligned = on_one_scale(own, other)
    assert aligned.places.min() >= -1e-6
    assert aligned.places.max() <= 1 + 1e-6
    wide = np.ptp(own.reshape(-1, 2), axis=0)
    shown = np.ptp(aligned.places[0].reshape(-1, 2), axis=0)
    np.testing.assert_allclose(shown / wide, (shown / wide)[0], rtol=1e-4)


def test_points_in_one_place_can_be_drawn() -> None:
    assert np.isfinite(on_one_scale(np.ones((5, 2, 2), "f4"), np.zeros((5, 2, 2), "f4")).places).all()


def test_the_tokens_are_those_that_both_models_read(unlike: ModelPair) -> None:
    assert both_places(unlike, "pca-raw-2d", 0, 1, 10**6).places.shape == (2, unlike.other.n_tokens, 2, 2)


def test_a_search_finds_the_same_tokens_in_both(alike: ModelPair) -> None:
    both = drawn_of_both(alike, 0, 0, 100)
    mask = selected_in_both(both, Selection("the"))
    is_the = np.array(alike.own.wordpieces(alike.own.rows[:100])) == "the"
    np.testing.assert_array_equal(mask, np.broadcast_to(is_the[None, :, None], mask.shape))


def test_a_condition_on_a_head_is_asked_in_each_model(alike: ModelPair) -> None:
    both = drawn_of_both(alike, 1, 1, 100)
    chosen, _ = parse_selection({"where": "entropy:0..1.2"}, alike.own, columns(alike.own))
    for mask, drawn in zip(selected_in_both(both, chosen), (both.first, both.second), strict=True):
        entropy = drawn.corpus.token_statistic.sel(statistic="entropy").values[1, 1, drawn.rows]
        np.testing.assert_array_equal(mask, np.broadcast_to((entropy <= 1.2)[:, None], mask.shape))


def test_a_region_of_this_picture_is_the_same_tokens_in_both(alike: ModelPair) -> None:
    both = drawn_of_both(alike, 0, 0, 100)
    lasso = "pca-exact-2d,0,0,0,0,1000,0,1000,500,0,500"
    chosen, notices = parse_selection({"lasso": lasso}, alike.own, columns(alike.own))
    first, second = selected_in_both(both, chosen)
    assert notices == ()
    assert 0 < first.sum() < first.size
    np.testing.assert_array_equal(first, second)
