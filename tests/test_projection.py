"""`store.kernels.projection` against numpy's SVD, scipy, hand-made rotations and other cases with known answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

from store.kernels.projection import (
    align,
    cosine_distance,
    fit_pca,
    place,
    place_by_neighbours,
    recall,
    screen_distance,
    spearman,
)


def stretched_points(points: int = 200, seed: int = 0) -> np.ndarray:
    choose = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(choose.standard_normal((6, 6)))
    return choose.standard_normal((points, 6)) * [9, 5, 3, 1, 0.5, 0.1] @ turn + 4


def test_axes_are_the_right_singular_vectors_up_to_their_sign() -> None:
    points = stretched_points()
    mean, axes, _ = fit_pca(points, components=2)
    _, _, rows = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(mean, points.mean(axis=0))
    np.testing.assert_allclose(np.abs(axes @ rows[:2].T), np.eye(2), atol=1e-9)


def test_explained_share_is_that_of_the_squared_singular_values() -> None:
    points = stretched_points()
    _, _, explained = fit_pca(points, components=2)
    squares = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) ** 2
    np.testing.assert_allclose(explained, squares[:2] / squares.sum())


@pytest.mark.parametrize("points", [1, 2])
def test_axes_that_few_points_do_not_have_are_0(points: int) -> None:
    """Two points vary only along the line between them."""
    vectors = np.array([[1.0, 2, 3, 4], [4, 2, 7, 4]])[:points]
    mean, axes, explained = fit_pca(vectors, components=3)
    assert (axes.shape, explained.tolist()) == ((3, 4), pytest.approx([points - 1, 0, 0]))
    np.testing.assert_array_equal(mean, [[1, 2, 3, 4], [2.5, 2, 5, 4]][points - 1])
    np.testing.assert_allclose(np.abs(axes[0]) * 5, [[0] * 4, [3, 0, 4, 0]][points - 1], atol=1e-9)
    assert not axes[points:].any()
    np.testing.assert_allclose(place(vectors, mean, axes)[:, 1:], 0, atol=1e-9)


def test_the_same_points_give_the_same_axes_bit_for_bit() -> None:
    points = stretched_points()
    first, second = fit_pca(points, components=2), fit_pca(points.copy(), components=2)
    for places, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(places, other)


@given(seed=st.integers(0, 1000), points=st.integers(3, 40), features=st.integers(2, 8))
def test_distances_in_all_components_are_those_of_the_points(seed: int, points: int, features: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(points, features))
    mean, axes, explained = fit_pca(vectors, components=min(points, features))
    placed = place(vectors, mean, axes)
    between = [np.linalg.norm(each[:, None] - each[None], axis=-1) for each in (placed, vectors)]
    np.testing.assert_allclose(*between, atol=1e-8)
    assert explained.sum() == pytest.approx(1)


@given(seed=st.integers(0, 1000), neighbours=st.integers(1, 6))
def test_a_point_is_placed_within_its_neighbours_and_on_one_that_it_equals(seed: int, neighbours: int) -> None:
    random = np.random.default_rng(seed)
    distance, fitted = random.uniform(0.1, 5, (4, neighbours)), random.normal(size=(4, neighbours, 2))
    placed = place_by_neighbours(distance, fitted)
    assert (fitted.min(axis=1) - 1e-9 <= placed).all()
    assert (placed <= fitted.max(axis=1) + 1e-9).all()
    distance[:, 0] = 0
    np.testing.assert_allclose(place_by_neighbours(distance, fitted), fitted[:, 0], atol=1e-3)


def test_axes_do_not_flip_when_the_points_come_in_another_order() -> None:
    points = stretched_points()
    _, axes, _ = fit_pca(points, components=2)
    _, again, _ = fit_pca(points[::-1], components=2)
    np.testing.assert_allclose(axes, again, atol=1e-9)


def test_placed_points_have_the_principal_coordinates_of_the_svd() -> None:
    points = stretched_points()
    mean, axes, _ = fit_pca(points, components=2)
    left, values, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(np.abs(place(points, mean, axes)), np.abs(left[:, :2] * values[:2]), atol=1e-9)


def test_every_head_is_placed_by_its_own_formula() -> None:
    points = np.stack([stretched_points(seed=seed) for seed in (1, 2)])
    means, axes, _ = zip(*(fit_pca(head, components=2) for head in points), strict=True)
    together = place(points, np.stack(means), np.stack(axes))
    for head in range(2):
        alone = [[(point - means[head]) @ axis for axis in axes[head]] for point in points[head]]
        np.testing.assert_allclose(together[head], alone)


# -- aligning one picture with another ----------------------------------------------------------------


SEEDS = st.integers(0, 10_000)


def picture(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(3, 2, (12, 2))


def turn(angle: float, mirrored: bool) -> np.ndarray:
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return rotation @ np.diag([-1, 1]) if mirrored else rotation


@given(SEEDS, st.floats(0, 6), st.booleans(), st.floats(0.1, 10))
def test_alignment_undoes_rotation_reflection_scale_and_shift(
    seed: int, angle: float, mirrored: bool, scale: float
) -> None:
    original = picture(seed)
    moved = scale * original @ turn(angle, mirrored) + [20, -5]
    np.testing.assert_allclose(align(moved, original), original, atol=1e-9)


@given(SEEDS, SEEDS, st.floats(0, 6), st.booleans())
def test_alignment_does_not_depend_on_the_rotation_before_it(
    seed: int, other: int, angle: float, mirrored: bool
) -> None:
    places, onto = picture(seed), picture(other + 20_000)
    np.testing.assert_allclose(align(places @ turn(angle, mirrored), onto), align(places, onto), atol=1e-6)


@given(SEEDS, SEEDS)
def test_the_rotation_is_that_of_scipy(seed: int, other: int) -> None:
    places, onto = picture(seed), picture(other)
    centred = [each - each.mean(axis=0) for each in (places, onto)]
    rotation, _ = orthogonal_procrustes(*centred)
    scale = np.linalg.norm(centred[1]) / np.linalg.norm(centred[0])
    np.testing.assert_allclose(align(places, onto), centred[0] @ rotation * scale + onto.mean(axis=0), atol=1e-9)


@given(SEEDS, SEEDS)
def test_an_aligned_picture_has_the_size_of_the_other(seed: int, other: int) -> None:
    onto = picture(other)
    aligned = align(picture(seed), onto)
    assert np.linalg.norm(aligned - aligned.mean(axis=0)) == pytest.approx(np.linalg.norm(onto - onto.mean(axis=0)))


@given(SEEDS, SEEDS)
def test_alignment_preserves_ratios_of_distances(seed: int, other: int) -> None:
    places = picture(seed)
    aligned = align(places, picture(other))
    ratios = [np.linalg.norm(each[:-1] - each[-1], axis=-1) for each in (aligned, places)]
    np.testing.assert_allclose(ratios[0] / ratios[0][0], ratios[1] / ratios[1][0], rtol=1e-7)


def test_a_single_point_is_aligned_with_the_mean() -> None:
    np.testing.assert_allclose(align(np.full((3, 2), 7.0), np.array([[0.0, 0], [2, 0], [1, 3]])), [[1, 1]] * 3)


def random_rows(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape)


def test_screen_distance_is_the_euclidean_one_of_scipy() -> None:
    query, key = random_rows(3, 5, 2), random_rows(3, 7, 2, seed=1)
    expected = [cdist(head_query, other) for head_query, other in zip(query, key, strict=True)]
    np.testing.assert_allclose(screen_distance(query, key), expected)


def test_cosine_distance_is_that_of_scipy_whatever_the_lengths_of_queries_and_keys() -> None:
    query, key = random_rows(3, 5, 4), 10 * random_rows(3, 7, 4, seed=1) - 5
    query[:, 2] *= 100
    expected = [cdist(*both, metric="cosine") for both in zip(query, key, strict=True)]
    np.testing.assert_allclose(cosine_distance(query, key), expected)


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
    """The first query has both of its two most attended keys near it, the second query one, the third none."""
    pattern = np.tile([0.4, 0.3, 0.2, 0.1], (3, 1))
    distance = np.array([[2.0, 1, 8, 9], [1, 9, 2, 8], [8, 9, 1, 2]])
    assert recall(pattern, distance, k=2) == pytest.approx((1 + 0.5 + 0) / 3)


def test_recall_of_a_perfect_picture_is_one() -> None:
    pattern = random_rows(4, 6, 6)
    np.testing.assert_array_equal(recall(pattern, 1 - pattern, k=3), 1)


def test_recall_of_a_sentence_shorter_than_k_is_one() -> None:
    assert recall(random_rows(2, 2), random_rows(2, 2, seed=1), k=3) == 1


def test_recall_looks_for_no_key_without_weight() -> None:
    """The first query sees one key, the nearest; the second sees two keys, of which one is among its two nearest."""
    pattern = np.array([[1.0, 0, 0, 0], [0.6, 0.4, 0, 0]])
    distance = np.array([[1.0, 2, 3, 4], [1, 3, 2, 4]])
    assert recall(pattern, distance, k=3) == pytest.approx((1 + 1 / 2) / 2)
