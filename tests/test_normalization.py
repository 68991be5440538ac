"""`store.kernels.normalization`: attention survives it, and the cosine orders keys as attention does."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.special import softmax

from store.kernels.normalization import exact_mode, unit

LIBRARIES = pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])


def random_vectors(*shape: int, seed: int = 0) -> np.ndarray:
    return 2 * np.random.default_rng(seed).standard_normal(shape)


def in_exact_mode(query: np.ndarray, key: np.ndarray, make: Any) -> tuple[np.ndarray, np.ndarray]:
    radius = np.linalg.norm(key, axis=-1).max(axis=-1)
    one, other = exact_mode(make(query), make(key), make(radius))
    return np.asarray(one), np.asarray(other)


@LIBRARIES
def test_exact_mode_leaves_dot_products_as_they_are(make: Any) -> None:
    query, key = random_vectors(3, 9, 4), random_vectors(3, 7, 4, seed=1)
    one, other = in_exact_mode(query, key, make)
    np.testing.assert_allclose(np.einsum("hqc,hkc->hqk", one, other), np.einsum("hqc,hkc->hqk", query, key), rtol=1e-12)


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
    one, other = in_exact_mode(query, key, make)
    attention = softmax(query[0] @ key[0].T / np.sqrt(channels), axis=-1)
    np.testing.assert_array_equal(np.argsort(cdist(one[0], other[0], "cosine")), np.argsort(-attention))


@LIBRARIES
def test_euclidean_distance_of_unit_vectors_orders_keys_as_attention_does(make: Any) -> None:
    query, key = random_vectors(1, 9, 4), random_vectors(1, 12, 4, seed=1)
    one, other = (np.asarray(unit(make(vectors))) for vectors in in_exact_mode(query, key, make))
    np.testing.assert_array_equal(np.argsort(cdist(one[0], other[0])), np.argsort(-query[0] @ key[0].T))


@LIBRARIES
def test_a_key_longer_than_the_radius_gets_a_zero(make: Any) -> None:
    _, key = exact_mode(make(np.ones((1, 2, 2))), make(np.array([[[3.0, 4.0]]])), make(np.array([1.0])))
    np.testing.assert_array_equal(np.asarray(key), [[[3, 4, 0]]])


@LIBRARIES
def test_unit_vectors_have_length_one_and_the_same_direction(make: Any) -> None:
    vectors = random_vectors(20, 4)
    found = np.asarray(unit(make(vectors)))
    np.testing.assert_allclose(found * np.linalg.norm(vectors, axis=-1, keepdims=True), vectors, rtol=1e-12)


@LIBRARIES
def test_the_zero_vector_has_no_direction_and_stays(make: Any) -> None:
    np.testing.assert_array_equal(np.asarray(unit(make(np.zeros((2, 3))))), 0)
