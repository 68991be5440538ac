"""t-SNE of some hundred points, with the gradient over all pairs of points: no tree is as fast for so few.

Steps, learning rate, momentum and start are scikit-learn's. Imports numba: import it where it is used.
"""

import numpy as np
from numpy.typing import NDArray

from ingest.run.compiled import njit
from store.kernels.projection import fit_pca, unit

Floats = NDArray[np.floating]
Singles = NDArray[np.float32]

#: Steps in which near points attract each other more strongly, and how much more (van der Maaten and Hinton 2008).
EARLY_STEPS, EXAGGERATION = 250, 12.0
#: Share of the last movement that is kept, in the early steps and after them.
EARLY_MOMENTUM, MOMENTUM = 0.5, 0.8
#: Smallest spread of the start and smallest learning rate, as in scikit-learn.
START, SLOWEST = 1e-4, 50.0
#: Mean movement of the points in an early step, along a random direction of the vectors: attraction can draw points
#: together until rounding alone tells them apart. Moved so, they keep some of their order, which independent noise loses.
NUDGE = 1e-5
#: Number of leading principal components that span such a direction.
NUDGED = 32
#: Largest difference of a point's entropy from that of the perplexity, and most halvings until then.
CLOSE, HALVINGS = 1e-5, 100


def exact_tsne(
    points: Floats, components: int, *, seed: int, perplexity: float, steps: int, metric: str = "euclidean"
) -> Singles:
    """Places (point, component) of points (point, feature), whose distances are by `metric`, euclidean or cosine."""
    mean, axes, _ = fit_pca(points.astype(np.float64), components=max(components, min(NUDGED, *points.shape)))
    principal = ((points - mean) @ axes.T).T
    places = np.zeros((3, len(points)), np.float32)
    places[:components] = principal[:components] / max(float(principal[0].std()), 1e-12) * START
    nudges = (principal * NUDGE / max(float(np.sqrt((principal**2).sum(axis=0).mean())), 1e-12)).astype(np.float32)
    rate = max(len(points) / EXAGGERATION / 4, SLOWEST)
    square = squared_distances(points) if metric == "euclidean" else (squared_distances(unit(points)) / 2) ** 2
    joint = joint_probabilities(square, perplexity)
    early = min(steps, EARLY_STEPS)
    places = _descend(places, joint, early, EXAGGERATION, EARLY_MOMENTUM, rate, nudges, seed, components)
    places = _descend(places, joint, steps - early, 1.0, MOMENTUM, rate, nudges[:0], seed, components)
    return np.ascontiguousarray(places[:components].T)


def squared_distances(points: Floats) -> NDArray[np.float64]:
    """Squared distance (point, point), infinite from a point to itself."""
    exact = points.astype(np.float64)
    length = (exact * exact).sum(axis=1)
    square = np.clip(length[:, None] + length - 2 * exact @ exact.T, 0, None)
    np.fill_diagonal(square, np.inf)
    return square


def joint_probabilities(square: NDArray[np.float64], perplexity: float) -> Singles:
    """Probabilities (point, point) that sum to 1, of each point's 3 * perplexity nearest, with that perplexity."""
    count = min(len(square) - 1, int(3 * perplexity + 1))
    near = np.argpartition(square, count - 1, axis=1)[:, :count]
    joint = np.zeros_like(square)
    np.put_along_axis(joint, near, _shares(np.take_along_axis(square, near, axis=1), np.log(perplexity)), axis=1)
    joint += joint.T
    return (joint / joint.sum()).astype(np.float32)


def _shares(square: NDArray[np.float64], entropy: float) -> NDArray[np.float64]:
    """Shares (point, neighbour) by a Gaussian as wide as gives every point the entropy."""
    square = square - square.min(axis=1, keepdims=True)
    narrow, low, high = np.ones(len(square)), np.zeros(len(square)), np.full(len(square), np.inf)
    for _ in range(HALVINGS):
        weights = np.exp(-square * narrow[:, None])
        total = weights.sum(axis=1)
        excess = np.log(total) + narrow * (square * weights).sum(axis=1) / total - entropy
        if np.abs(excess).max() < CLOSE:
            break
        low, high = np.where(excess > 0, narrow, low), np.where(excess > 0, high, narrow)
        narrow = np.where(np.isinf(high), 2 * narrow, (low + np.where(np.isinf(high), 0, high)) / 2)
    return weights / total[:, None]


@njit(cache=True, fastmath=True, error_model="numpy", nogil=True)
def _descend(
    places: Singles,
    joint: Singles,
    steps: int,
    exaggeration: float,
    momentum: float,
    rate: float,
    nudges: Singles,
    seed: int,
    components: int,
) -> Singles:
    """Places (3, point) after `steps` steps from `places`; on a plane the third component is 0.

    Each step moves them along a random direction of `nudges` (feature, point).
    """
    np.random.seed(seed)  # the generator is numba's own
    gains, moved = np.ones_like(places), np.zeros_like(places)
    for _ in range(steps):
        force = _forces(places, joint, np.float32(exaggeration), components < 3)
        for axis in range(3):
            for point in range(places.shape[1]):
                against = moved[axis, point] * force[axis, point] < 0
                gain = gains[axis, point] + 0.2 if against else gains[axis, point] * 0.8
                gains[axis, point] = max(gain, 0.01)
                moved[axis, point] = momentum * moved[axis, point] - rate * gains[axis, point] * force[axis, point]
        places = places + moved
        for axis in range(components):
            for feature in range(len(nudges)):
                places[axis] += np.float32(np.random.standard_normal()) * nudges[feature]
    return places


@njit(cache=True, fastmath=True, error_model="numpy", nogil=True)
def _forces(places: Singles, joint: Singles, exaggeration: np.float32, flat: bool) -> Singles:
    """The gradient (3, point): by Student's t with one degree of freedom on a plane, with two in space."""
    points = places.shape[1]
    near, far = np.zeros_like(places), np.zeros_like(places)
    total = np.float32(0)
    one, half = np.float32(1), np.float32(0.5)
    along, above, behind = places[0], places[1], places[2]
    for i in range(points):
        x, y, z = along[i], above[i], behind[i]
        pulls = joint[i]
        near_x = near_y = near_z = far_x = far_y = far_z = sum_ = np.float32(0)
        for j in range(points):
            across, up = x - along[j], y - above[j]
            square = across * across + up * up
            if flat:
                close = one / (one + square)
                pull, push = pulls[j] * close, close * close
            else:
                back = z - behind[j]
                wide = one + half * (square + back * back)
                close = one / (wide * np.sqrt(wide))
                pull, push = pulls[j] * close, close * close
                near_z += pull * back
                far_z += push * back
            sum_ += close
            near_x += pull * across
            near_y += pull * up
            far_x += push * across
            far_y += push * up
        near[0, i], near[1, i], near[2, i] = near_x, near_y, near_z
        far[0, i], far[1, i], far[2, i] = far_x, far_y, far_z
        total += sum_ - one
    strength = np.float32(4 if flat else 3)
    return strength * (exaggeration * near - far / total)
