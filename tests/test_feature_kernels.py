"""`store.kernels.features`: cosine, linear CKA and explained variance, against scipy and the definitions."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cosine
from scipy.stats import f_oneway, ortho_group

from store.kernels.features import explained_share, linear_cka, summed_cosine

#: Vectors of whole numbers, so that no point is a rounding error.
VECTORS = arrays(np.float64, (6, 3), elements=st.integers(-5, 5).map(float))


def by_kernels(first: np.ndarray, other: np.ndarray) -> float:
    """CKA: HSIC of centred Gram matrices over the root of each one's HSIC with itself (Kornblith 2019, equations 1 and 3)."""
    centre = np.eye(len(first)) - 1 / len(first)
    grams = [centre @ vectors @ vectors.T @ centre for vectors in (first, other)]
    return float(np.trace(grams[0] @ grams[1]) / np.sqrt(np.prod([np.trace(gram @ gram) for gram in grams])))


@pytest.fixture
def vectors() -> np.ndarray:
    """Three points (point, token, feature)."""
    return np.random.default_rng(0).normal(1, 2, (3, 40, 5))


def test_the_cosine_is_that_of_scipy(vectors: np.ndarray) -> None:
    expected = [
        [sum(1 - cosine(a, b) for a, b in zip(vector_set, other, strict=True)) for other in vectors]
        for vector_set in vectors
    ]
    np.testing.assert_allclose(summed_cosine(vectors), expected, rtol=1e-10)


def test_cosines_add_up_over_tokens(vectors: np.ndarray) -> None:
    parts = summed_cosine(vectors[:, :15]) + summed_cosine(vectors[:, 15:])
    np.testing.assert_allclose(parts, summed_cosine(vectors), rtol=1e-12)


def test_the_cosine_of_a_zero_vector_is_0() -> None:
    assert summed_cosine(np.array([[[0.0, 0.0]], [[1.0, 2.0]]])).tolist() == [[0, 0], [0, pytest.approx(1)]]


def test_cka_is_that_of_the_definition_by_kernels(vectors: np.ndarray) -> None:
    expected = [[by_kernels(vector_set, other) for other in vectors] for vector_set in vectors]
    np.testing.assert_allclose(linear_cka(vectors), expected, rtol=1e-10)


def test_features_that_vary_apart_from_each_other_have_no_cka() -> None:
    first, other = np.array([[1.0], [-1], [1], [-1]]), np.array([[1.0], [1], [-1], [-1]])
    assert linear_cka([first, other])[0, 1] == 0


def test_a_point_at_which_all_tokens_are_alike_has_no_cka(vectors: np.ndarray) -> None:
    similarity = linear_cka([np.ones((40, 5)), vectors[0]])
    assert np.isnan(similarity[0]).all()
    assert similarity[1, 1] == pytest.approx(1)


def test_points_may_have_different_numbers_of_features(vectors: np.ndarray) -> None:
    similarity = linear_cka([vectors[0], vectors[1][:, :2]])
    assert similarity[0, 1] == pytest.approx(by_kernels(vectors[0], vectors[1][:, :2]))


@given(VECTORS, VECTORS, st.integers(0, 1000), st.floats(0.1, 10))
def test_rotation_scale_and_shift_leave_cka_as_it_is(
    first: np.ndarray, other: np.ndarray, seed: int, scale: float
) -> None:
    turned = scale * first @ ortho_group.rvs(3, random_state=seed) + 7
    np.testing.assert_allclose(linear_cka([turned, other]), linear_cka([first, other]), atol=1e-9)


@given(VECTORS, VECTORS)
def test_cka_is_symmetric_and_between_0_and_1(first: np.ndarray, other: np.ndarray) -> None:
    similarity = linear_cka([first, other])
    np.testing.assert_array_equal(similarity, similarity.T)
    there = similarity[~np.isnan(similarity)]
    assert ((there >= 0) & (there <= 1 + 1e-9)).all()


# -- variance between groups --------------------------------------------------------------------------


def test_groups_of_identical_vectors_explain_all_variance() -> None:
    vectors = np.array([[0.0, 1], [0, 1], [5, 2], [5, 2]])
    assert explained_share(vectors, np.array([3, 3, 8, 8])) == pytest.approx(1)


def test_the_explained_share_of_a_case_computed_by_hand() -> None:
    """Group means are 1 and 4 about 2.5: squares between groups are 9 of 13 in all; 1 - (4 / 2) / (13 / 3)."""
    vectors = np.array([[0.0], [2], [3], [5]])
    assert explained_share(vectors, np.array([0, 0, 1, 1])) == pytest.approx(1 - (4 / 2) / (13 / 3))


@given(st.integers(0, 1000))
def test_the_explained_share_of_one_feature_follows_from_the_f_of_scipy(seed: int) -> None:
    """Epsilon squared is (F - 1) / (F + (n - k) / (k - 1))."""
    random = np.random.default_rng(seed)
    group = np.repeat([0, 1, 2], [5, 9, 4])
    vectors = random.normal(size=(18, 1)) + group[:, None]
    f = f_oneway(*(vectors[group == label, 0] for label in range(3))).statistic
    assert explained_share(vectors, group) == pytest.approx((f - 1) / (f + 15 / 2))


def test_sums_of_squares_are_of_all_features_together() -> None:
    random = np.random.default_rng(0)
    group, vectors = random.integers(0, 4, 30), random.normal(size=(30, 3))
    means = np.stack([vectors[group == label].mean(axis=0) for label in group])
    within, total = ((vectors - means) ** 2).sum(), ((vectors - vectors.mean(axis=0)) ** 2).sum()
    assert explained_share(vectors, group) == pytest.approx(1 - within / 26 / (total / 29))


@pytest.mark.parametrize("groups", [2, 50, 900])
def test_groups_drawn_by_chance_explain_nothing(groups: int) -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(1800, 4))
    shares = [explained_share(vectors, random.permutation(np.arange(1800) % groups)) for _ in range(30)]
    assert abs(np.mean(shares)) < 0.005


@given(st.integers(0, 1000))
def test_names_of_groups_and_order_of_tokens_do_not_count(seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors, group = random.normal(size=(20, 2)), random.permutation(np.arange(20) % 5)
    order, names = random.permutation(20), random.permutation(100)[:5]
    assert explained_share(vectors[order], names[group][order]) == pytest.approx(explained_share(vectors, group))


def test_tokens_of_no_group_are_left_out() -> None:
    vectors, group = np.random.default_rng(0).normal(size=(9, 2)), np.array([0, 0, 1, 1, -1, -1, 0, 1, -1])
    assert explained_share(vectors, group) == explained_share(vectors[group >= 0], group[group >= 0])


@pytest.mark.parametrize("group", [[2, 2, 2], [0, 1, 2], [-1, -1, 4], [-1, -1, -1]])
def test_a_single_group_and_groups_of_one_token_have_no_explained_share(group: list[int]) -> None:
    assert np.isnan(explained_share(np.arange(6.0).reshape(3, 2), np.array(group)))


def test_identical_tokens_have_no_explained_share() -> None:
    assert np.isnan(explained_share(np.ones((4, 2)), np.array([0, 0, 1, 1])))
