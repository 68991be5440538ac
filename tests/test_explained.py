"""Share of the variance that groups explain, against hand-made cases and scipy's F of an analysis of variance."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.stats import f_oneway

from store.kernels.features import explained_share


def test_groups_that_are_points_explain_everything() -> None:
    vectors = np.array([[0.0, 1], [0, 1], [5, 2], [5, 2]])
    assert explained_share(vectors, np.array([3, 3, 8, 8])) == pytest.approx(1)


def test_a_case_by_hand() -> None:
    """Means 1 and 4 about 2.5: between 9 of a total of 13; 1 - (4 / 2) / (13 / 3)."""
    vectors = np.array([[0.0], [2], [3], [5]])
    assert explained_share(vectors, np.array([0, 0, 1, 1])) == pytest.approx(1 - (4 / 2) / (13 / 3))


@given(st.integers(0, 1000))
def test_of_one_feature_it_follows_from_the_f_of_scipy(seed: int) -> None:
    """Epsilon squared is (F - 1) / (F + (n - k) / (k - 1))."""
    random = np.random.default_rng(seed)
    group = np.repeat([0, 1, 2], [5, 9, 4])
    vectors = random.normal(size=(18, 1)) + group[:, None]
    f = f_oneway(*(vectors[group == one, 0] for one in range(3))).statistic
    assert explained_share(vectors, group) == pytest.approx((f - 1) / (f + 15 / 2))


def test_sums_of_squares_are_of_all_features_together() -> None:
    random = np.random.default_rng(0)
    group, vectors = random.integers(0, 4, 30), random.normal(size=(30, 3))
    means = np.stack([vectors[group == one].mean(axis=0) for one in group])
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
def test_one_group_or_groups_of_one_token_explain_no_share(group: list[int]) -> None:
    assert np.isnan(explained_share(np.arange(6.0).reshape(3, 2), np.array(group)))


def test_of_tokens_that_are_alike_there_is_nothing_to_explain() -> None:
    assert np.isnan(explained_share(np.ones((4, 2)), np.array([0, 0, 1, 1])))
