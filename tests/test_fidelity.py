"""`store.kernels.fidelity` against scipy and hand-made cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

from store.kernels.fidelity import recall, screen_distance, spearman


def random_rows(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape)


def test_screen_distance_is_the_euclidean_one_of_scipy() -> None:
    query, key = random_rows(3, 5, 2), random_rows(3, 7, 2, seed=1)
    expected = [cdist(head_query, other) for head_query, other in zip(query, key, strict=True)]
    np.testing.assert_allclose(screen_distance(query, key), expected)


def test_spearman_is_the_mean_of_the_rows_of_scipy() -> None:
    pattern, distance = random_rows(2, 6, 9), random_rows(2, 6, 9, seed=1)
    expected = [[spearmanr(*rows).statistic for rows in zip(pattern[h], distance[h], strict=True)] for h in range(2)]
    np.testing.assert_allclose(spearman(pattern, distance), np.mean(expected, axis=-1))


@given(seed=st.integers(0, 2**32 - 1))
def test_spearman_gives_ties_the_mean_rank_as_scipy_does(seed: int) -> None:
    choose = np.random.default_rng(seed)
    rows = np.stack([np.append(choose.integers(0, 4, 8), [9, 10]) for _ in range(2)]).astype(float)
    assert spearman(rows[:1], rows[1:]) == pytest.approx(spearmanr(*rows).statistic)


def test_a_perfect_picture_has_spearman_minus_one() -> None:
    pattern = random_rows(4, 6, 6)
    np.testing.assert_allclose(spearman(pattern, -np.log(pattern)), -1)


def test_a_row_that_is_all_equal_counts_as_zero() -> None:
    pattern = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.2]])
    assert spearman(pattern, np.array([[1.0, 2, 3], [1, 2, 3]])) == pytest.approx(-0.5)


def test_recall_by_hand() -> None:
    """Of the two most attended keys, the first query finds both near it, the second one, the third none."""
    pattern = np.tile([0.4, 0.3, 0.2, 0.1], (3, 1))
    distance = np.array([[2.0, 1, 8, 9], [1, 9, 2, 8], [8, 9, 1, 2]])
    assert recall(pattern, distance, k=2) == pytest.approx((1 + 0.5 + 0) / 3)


def test_recall_of_a_perfect_picture_is_one() -> None:
    pattern = random_rows(4, 6, 6)
    np.testing.assert_array_equal(recall(pattern, 1 - pattern, k=3), 1)


def test_recall_of_a_sentence_shorter_than_k_is_one() -> None:
    assert recall(random_rows(2, 2), random_rows(2, 2, seed=1), k=3) == 1


def test_recall_looks_for_no_key_without_weight() -> None:
    """A query that sees one key, which is the nearest, and one that sees two, of which one is among the two nearest."""
    pattern = np.array([[1.0, 0, 0, 0], [0.6, 0.4, 0, 0]])
    distance = np.array([[1.0, 2, 3, 4], [1, 3, 2, 4]])
    assert recall(pattern, distance, k=3) == pytest.approx((1 + 1 / 2) / 2)
