"""`store.kernels.projection`: attention survives normalisation, and the cosine orders keys as attention does."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.special import softmax
from scipy.stats import spearmanr

from store.kernels.projection import centroid_shift, exact_mode, moved, normalized, sphere_centre, unit

LIBRARIES = pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])


def random_vectors(*shape: int, seed: int = 0) -> np.ndarray:
    return 2 * np.random.default_rng(seed).standard_normal(shape)


def in_exact_mode(query: np.ndarray, key: np.ndarray, make: Any) -> tuple[np.ndarray, np.ndarray]:
    radius = np.linalg.norm(key, axis=-1).max(axis=-1)
    queries, other = exact_mode(make(query), make(key), make(radius))
    return np.asarray(queries), np.asarray(other)


@LIBRARIES
def test_exact_mode_leaves_dot_products_as_they_are(make: Any) -> None:
    query, key = random_vectors(3, 9, 4), random_vectors(3, 7, 4, seed=1)
    queries, other = in_exact_mode(query, key, make)
    np.testing.assert_allclose(
        np.einsum("hqc,hkc->hqk", queries, other), np.einsum("hqc,hkc->hqk", query, key), rtol=1e-12
    )


@LIBRARIES
def test_exact_mode_adds_one_channel_and_gives_all_keys_the_same_length(make: Any) -> None:
    key = random_vectors(3, 7, 4)
    _, other = in_exact_mode(random_vectors(3, 9, 4, seed=1), key, make)
    assert other.shape == (3, 7, 5)
    longest = np.linalg.norm(key, axis=-1).max(axis=-1, keepdims=True)
    np.testing.assert_allclose(np.linalg.norm(other, axis=-1), np.broadcast_to(longest, (3, 7)), rtol=1e-12)


@LIBRARIES
@given(seed=st.integers(0, 2**32 - 1), channels=st.integers(1, 16))
def test_cosine_orders_keys_as_attention_does_for_every_query(make: Any, seed: int, channels: int) -> None:
    query, key = random_vectors(1, 5, channels, seed=seed), random_vectors(1, 12, channels, seed=seed + 1)
    queries, other = in_exact_mode(query, key, make)
    attention = softmax(query[0] @ key[0].T / np.sqrt(channels), axis=-1)
    np.testing.assert_array_equal(np.argsort(cdist(queries[0], other[0], "cosine")), np.argsort(-attention))


@LIBRARIES
def test_euclidean_distance_of_unit_vectors_orders_keys_as_attention_does(make: Any) -> None:
    query, key = random_vectors(1, 9, 4), random_vectors(1, 12, 4, seed=1)
    queries, other = (np.asarray(unit(make(vectors))) for vectors in in_exact_mode(query, key, make))
    np.testing.assert_array_equal(np.argsort(cdist(queries[0], other[0])), np.argsort(-query[0] @ key[0].T))


@LIBRARIES
def test_a_key_longer_than_the_radius_gets_a_zero(make: Any) -> None:
    _, key = exact_mode(make(np.ones((1, 2, 2))), make(np.array([[[3.0, 4.0]]])), make(np.array([1.0])))
    np.testing.assert_array_equal(np.asarray(key), [[[3, 4, 0]]])


@LIBRARIES
def test_unit_vectors_have_length_one_and_the_same_direction(make: Any) -> None:
    vectors = random_vectors(20, 4)
    units = np.asarray(unit(make(vectors)))
    np.testing.assert_allclose(units * np.linalg.norm(vectors, axis=-1, keepdims=True), vectors, rtol=1e-12)


@LIBRARIES
def test_the_zero_vector_has_no_direction_and_stays(make: Any) -> None:
    np.testing.assert_array_equal(np.asarray(unit(make(np.zeros((2, 3))))), 0)


# -- attention is left as it is ---------------------------------------------------------------------------

TYPES = pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-5), (np.float64, 1e-12)], ids=["f4", "f8"])


def attention(query: np.ndarray, key: np.ndarray, channels: int) -> np.ndarray:
    """Attention in float64, scaled by the model's number of channels, also where a channel was added."""
    logits = np.einsum("hqc,hkc->hqk", query.astype(np.float64), key.astype(np.float64))
    return softmax(logits / np.sqrt(channels), axis=-1)


def change_of_attention(query: np.ndarray, key: np.ndarray, after: tuple[np.ndarray, np.ndarray]) -> float:
    before, then = (attention(*both, query.shape[-1]) for both in ((query, key), after))
    return float(np.abs(then - before).max())


@LIBRARIES
@TYPES
@given(
    seed=st.integers(0, 2**32 - 1),
    scale=st.floats(1 / 4, 4),
    shift=st.lists(st.floats(-4, 4), min_size=4, max_size=4),
    exact=st.booleans(),
)
def test_attention_survives_every_scale_and_every_shift_of_the_keys(
    make: Any, dtype: Any, error: float, seed: int, scale: float, shift: list[float], exact: bool
) -> None:
    query, key = random_vectors(2, 6, 4, seed=seed).astype(dtype), random_vectors(2, 9, 4, seed=seed + 1).astype(dtype)
    constants = [make(np.full(2, scale, dtype)), make(np.tile(np.array(shift, dtype), (2, 1)))]
    radius = make(np.full(2, 50, dtype)) if exact else None
    after = normalized(make(query), make(key), scale=constants[0], shift=constants[1], radius=radius)
    assert change_of_attention(query, key, tuple(map(np.asarray, after))) <= error


def test_attention_does_not_survive_a_shift_of_the_queries() -> None:
    query, key = random_vectors(2, 6, 4), random_vectors(2, 9, 4, seed=1)
    assert change_of_attention(query, key, (query + 0.1, key)) > 0.01


@LIBRARIES
def test_a_key_is_divided_first_and_shifted_then(make: Any) -> None:
    query, key = make(np.array([[[1.0, 2]]])), make(np.array([[[8.0, 4]]]))
    pair = moved(query, key, scale=make(np.array([4.0])), shift=make(np.array([[1.0, 1]])))
    np.testing.assert_array_equal([np.asarray(vectors)[0, 0] for vectors in pair], [[4, 8], [3, 2]])


# -- centroid and sphere ----------------------------------------------------------------------------------


@LIBRARIES
def test_the_centroid_shift_brings_both_centres_together(make: Any) -> None:
    query, key = random_vectors(3, 9, 4) + 5, random_vectors(3, 7, 4, seed=1) - 2
    moved_key = key + np.asarray(centroid_shift(make(query), make(key)))[:, None]
    np.testing.assert_allclose(moved_key.mean(axis=1), query.mean(axis=1), atol=1e-12)


@LIBRARIES
@given(seed=st.integers(0, 2**32 - 1), channels=st.integers(1, 8))
def test_the_centre_of_a_sphere_is_found_from_points_on_it(make: Any, seed: int, channels: int) -> None:
    centre = random_vectors(channels, seed=seed)
    points = unit(random_vectors(1, 4 * channels + 4, channels, seed=seed + 1)) * 3 + centre
    np.testing.assert_allclose(np.asarray(sphere_centre(make(points)))[0], centre, atol=1e-6)


@LIBRARIES
def test_the_centre_is_that_of_the_least_squares_of_numpy(make: Any) -> None:
    """The expected centre solves |k|^2 = 2 k.centre + constant."""
    key = random_vectors(3, 40, 5) + 1
    design = np.concatenate([2 * key, np.ones((3, 40, 1))], axis=-1)
    expected = [
        np.linalg.lstsq(rows, (head_keys**2).sum(axis=1))[0][:5] for rows, head_keys in zip(design, key, strict=True)
    ]
    np.testing.assert_allclose(np.asarray(sphere_centre(make(key))), expected, rtol=1e-8)


def test_keys_in_a_plane_get_the_centre_that_lies_in_it() -> None:
    circle = np.stack([np.cos(np.arange(7)), np.sin(np.arange(7)), np.zeros(7)], axis=-1) + np.array([1, 2, 3])
    np.testing.assert_allclose(sphere_centre(circle[None])[0], [1, 2, 3], atol=1e-9)


def test_one_key_is_its_own_centre() -> None:
    np.testing.assert_array_equal(sphere_centre(np.array([[[3.0, 4]]])), [[3, 4]])


def test_in_exact_mode_the_spearman_of_every_query_is_minus_one() -> None:
    query, key = random_vectors(1, 9, 4), random_vectors(1, 20, 4, seed=1)
    queries, other = in_exact_mode(query, key, np.asarray)
    for logits, distance in zip(query[0] @ key[0].T, cdist(queries[0], other[0], "cosine"), strict=True):
        assert spearmanr(logits, distance).statistic == pytest.approx(-1)
