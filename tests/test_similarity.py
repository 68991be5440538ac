"""How alike two feature points are: cosine and linear CKA, against hand-made cases, scipy and the definition by kernels."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cosine
from scipy.stats import ortho_group

from store.kernels.features import linear_cka, summed_cosine

#: Apart from 0, so that no point is a rounding error.
VECTORS = arrays(np.float64, (6, 3), elements=st.integers(-5, 5).map(float))


def by_kernels(one: np.ndarray, other: np.ndarray) -> float:
    """HSIC of centred Gram matrices over the root of both with themselves (Kornblith 2019, equations 1 and 3)."""
    centre = np.eye(len(one)) - 1 / len(one)
    grams = [centre @ vectors @ vectors.T @ centre for vectors in (one, other)]
    return float(np.trace(grams[0] @ grams[1]) / np.sqrt(np.prod([np.trace(gram @ gram) for gram in grams])))


@pytest.fixture
def vectors() -> np.ndarray:
    """Three points (point, token, feature)."""
    return np.random.default_rng(0).normal(1, 2, (3, 40, 5))


def test_the_cosine_is_that_of_scipy(vectors: np.ndarray) -> None:
    expected = [
        [sum(1 - cosine(a, b) for a, b in zip(one, other, strict=True)) for other in vectors] for one in vectors
    ]
    np.testing.assert_allclose(summed_cosine(vectors), expected, rtol=1e-10)


def test_cosines_add_up_over_tokens(vectors: np.ndarray) -> None:
    parts = summed_cosine(vectors[:, :15]) + summed_cosine(vectors[:, 15:])
    np.testing.assert_allclose(parts, summed_cosine(vectors), rtol=1e-12)


def test_a_vector_of_zeros_is_like_none() -> None:
    assert summed_cosine(np.array([[[0.0, 0.0]], [[1.0, 2.0]]])).tolist() == [[0, 0], [0, pytest.approx(1)]]


def test_cka_is_that_of_the_definition_by_kernels(vectors: np.ndarray) -> None:
    expected = [[by_kernels(one, other) for other in vectors] for one in vectors]
    np.testing.assert_allclose(linear_cka(vectors), expected, rtol=1e-10)


def test_features_that_vary_apart_from_each_other_have_no_cka() -> None:
    one, other = np.array([[1.0], [-1], [1], [-1]]), np.array([[1.0], [1], [-1], [-1]])
    assert linear_cka([one, other])[0, 1] == 0


def test_a_point_at_which_all_tokens_are_alike_has_no_cka(vectors: np.ndarray) -> None:
    found = linear_cka([np.ones((40, 5)), vectors[0]])
    assert np.isnan(found[0]).all()
    assert found[1, 1] == pytest.approx(1)


def test_points_may_have_different_numbers_of_features(vectors: np.ndarray) -> None:
    found = linear_cka([vectors[0], vectors[1][:, :2]])
    assert found[0, 1] == pytest.approx(by_kernels(vectors[0], vectors[1][:, :2]))


@given(VECTORS, VECTORS, st.integers(0, 1000), st.floats(0.1, 10))
def test_rotation_scale_and_shift_leave_cka_as_it_is(
    one: np.ndarray, other: np.ndarray, seed: int, scale: float
) -> None:
    turned = scale * one @ ortho_group.rvs(3, random_state=seed) + 7
    np.testing.assert_allclose(linear_cka([turned, other]), linear_cka([one, other]), atol=1e-9)


@given(VECTORS, VECTORS)
def test_cka_is_symmetric_and_between_0_and_1(one: np.ndarray, other: np.ndarray) -> None:
    found = linear_cka([one, other])
    np.testing.assert_array_equal(found, found.T)
    there = found[~np.isnan(found)]
    assert ((there >= 0) & (there <= 1 + 1e-9)).all()
