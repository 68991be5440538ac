"""Laying a picture onto another, against scipy and hand-made turns."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.linalg import orthogonal_procrustes

from store.kernels.projection import align

SEEDS = st.integers(0, 10_000)


def picture(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(3, 2, (12, 2))


def turn(angle: float, mirrored: bool) -> np.ndarray:
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return rotation @ np.diag([-1, 1]) if mirrored else rotation


@given(SEEDS, st.floats(0, 6), st.booleans(), st.floats(0.1, 10))
def test_a_picture_that_was_turned_mirrored_scaled_and_moved_comes_back(
    seed: int, angle: float, mirrored: bool, scale: float
) -> None:
    original = picture(seed)
    moved = scale * original @ turn(angle, mirrored) + [20, -5]
    np.testing.assert_allclose(align(moved, original), original, atol=1e-9)


@given(SEEDS, SEEDS, st.floats(0, 6), st.booleans())
def test_what_is_laid_on_does_not_depend_on_how_it_was_turned(
    one: int, other: int, angle: float, mirrored: bool
) -> None:
    places, onto = picture(one), picture(other + 20_000)
    np.testing.assert_allclose(align(places @ turn(angle, mirrored), onto), align(places, onto), atol=1e-6)


@given(SEEDS, SEEDS)
def test_the_turn_is_that_of_scipy(one: int, other: int) -> None:
    places, onto = picture(one), picture(other)
    centred = [each - each.mean(axis=0) for each in (places, onto)]
    rotation, _ = orthogonal_procrustes(*centred)
    scale = np.linalg.norm(centred[1]) / np.linalg.norm(centred[0])
    np.testing.assert_allclose(align(places, onto), centred[0] @ rotation * scale + onto.mean(axis=0), atol=1e-9)


@given(SEEDS, SEEDS)
def test_a_picture_becomes_as_large_as_the_one_it_is_laid_on(one: int, other: int) -> None:
    onto = picture(other)
    found = align(picture(one), onto)
    assert np.linalg.norm(found - found.mean(axis=0)) == pytest.approx(np.linalg.norm(onto - onto.mean(axis=0)))


@given(SEEDS, SEEDS)
def test_distances_keep_their_ratios(one: int, other: int) -> None:
    places = picture(one)
    found = align(places, picture(other))
    ratios = [np.linalg.norm(each[:-1] - each[-1], axis=-1) for each in (found, places)]
    np.testing.assert_allclose(ratios[0] / ratios[0][0], ratios[1] / ratios[1][0], rtol=1e-7)


def test_a_single_place_is_laid_on_the_mean() -> None:
    np.testing.assert_allclose(align(np.full((3, 2), 7.0), np.array([[0.0, 0], [2, 0], [1, 3]])), [[1, 1]] * 3)
