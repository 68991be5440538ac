"""t-SNE of a head: probabilities and gradient as scikit-learn computes them."""

import numpy as np
import pytest
from sklearn.manifold import _t_sne
from sklearn.metrics import pairwise_distances

from ingest.projections import exact_tsne
from ingest.projections.exact_tsne import EARLY_STEPS, joint_probabilities, squared_distances
from store.kernels.projection import trustworthy

POINTS = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32)


def test_distances_are_those_of_scikit_learn() -> None:
    square = squared_distances(POINTS)
    np.fill_diagonal(square, 0)
    np.testing.assert_allclose(square, pairwise_distances(POINTS.astype(np.float64)) ** 2, atol=1e-12)


def test_probabilities_with_all_neighbours_are_those_of_scikit_learn() -> None:
    square = squared_distances(POINTS)
    joint = joint_probabilities(square, 13)  # of 3 * 13 + 1 neighbours, which are all
    np.fill_diagonal(square, 0)
    expected = _t_sne._joint_probabilities(square, 13, 0)
    np.testing.assert_allclose(joint[np.triu_indices(40, 1)], expected, rtol=1e-3)


@pytest.mark.parametrize("components", [2, 3])
def test_the_gradient_is_that_of_scikit_learn(components: int) -> None:
    joint = joint_probabilities(squared_distances(POINTS), 5)
    places = np.zeros((3, 40), np.float32)
    places[:components] = np.random.default_rng(1).standard_normal((components, 40))
    forces = exact_tsne._forces(places, joint, np.float32(1), components < 3)
    flat = places[:components].T.astype(np.float64).ravel()
    half = joint[np.triu_indices(40, 1)].astype(np.float64)
    _, expected = _t_sne._kl_divergence(flat, half, max(components - 1, 1), 40, components)
    np.testing.assert_allclose(forces[:components].T.ravel(), expected, rtol=1e-3, atol=1e-6)


def test_points_that_attraction_draws_together_keep_some_of_their_order() -> None:
    """Without clusters, the early steps draw all points into a dot. Trustworthiness at random is 0.5."""
    points = np.random.default_rng(0).standard_normal((600, 8)).astype(np.float32)
    places = exact_tsne.exact_tsne(points, 2, seed=0, perplexity=50, steps=EARLY_STEPS)
    assert places.std() < 1e-3
    assert trustworthy(points, places, metric="euclidean") > 0.6
