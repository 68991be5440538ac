"""`store.kernels.projection` against numpy's SVD."""

import numpy as np

from store.kernels.projection import fit_pca, place


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


def test_the_same_points_give_the_same_axes_bit_for_bit() -> None:
    points = stretched_points()
    first, second = fit_pca(points, components=2), fit_pca(points.copy(), components=2)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


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
