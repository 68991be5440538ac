"""From head space to the picture. Fitted on a sample; every other token is then placed by the same formula.

The formulas take numpy or torch arrays; fitting PCA takes numpy only.
"""

import numpy as np
from numpy.typing import NDArray

from store.kernels import AnyArray, namespace

Floats = NDArray[np.floating]

#: Fitted points among which another one is placed.
NEIGHBOURS = 5


def fit_pca(points: Floats, *, components: int) -> tuple[Floats, Floats, Floats]:
    """Principal axes of `points` (point, feature): mean (feature), axes (component, feature), explained share (component).

    scikit-learn's exact solver with its deterministic signs: the same points give the same picture. Points that are all one
    have no variance to explain: the share is 0.
    """
    from sklearn.decomposition import PCA

    with np.errstate(invalid="ignore"):
        found = PCA(n_components=components, svd_solver="covariance_eigh").fit(points)
    return found.mean_, found.components_, np.nan_to_num(found.explained_variance_ratio_)


def place(points: AnyArray, mean: AnyArray, axes: AnyArray) -> AnyArray:
    """Coordinates (..., point, component) of `points` (..., point, feature) on fitted axes."""
    xp = namespace(points)
    return xp.matmul(points - mean[..., None, :], xp.swapaxes(axes, -1, -2))


def place_by_network(
    vectors: AnyArray, weight_in: AnyArray, bias_in: AnyArray, weight_out: AnyArray, bias_out: AnyArray
) -> AnyArray:
    """Coordinates (..., token, component) of vectors (..., token, channel) by a network with one hidden layer.

    Parameters
    ----------
    weight_in, bias_in
        (..., channel, hidden) and (..., hidden).
    weight_out, bias_out
        (..., hidden, component) and (..., component).
    """
    xp = namespace(vectors)
    hidden = xp.matmul(vectors, weight_in) + bias_in[..., None, :]
    # Swish: smooth as GELU, and the same in numpy and torch without scipy.
    active = hidden / (1 + xp.exp(-hidden))
    return xp.matmul(active, weight_out) + bias_out[..., None, :]


def place_by_neighbours(distance: AnyArray, fitted: AnyArray) -> AnyArray:
    """Coordinates (..., point, component): the mean of the places of a point's nearest fitted points, the nearer the heavier.

    Parameters
    ----------
    distance
        (..., point, neighbour), squared distances in head space to the nearest fitted points.
    fitted
        (..., point, neighbour, component), their places.
    """
    weight = 1 / (distance + 1e-6)
    return (weight[..., None] * fitted).sum(axis=-2) / weight.sum(axis=-1)[..., None]
