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
    vectors: AnyArray,
    weight_in: AnyArray,
    bias_in: AnyArray,
    weight_out: AnyArray,
    bias_out: AnyArray,
    weight_middle: AnyArray | None = None,
    bias_middle: AnyArray | None = None,
) -> AnyArray:
    """Coordinates (..., token, component) of vectors (..., token, channel) by a network with one or two hidden layers.

    Parameters
    ----------
    weight_in, bias_in
        (..., channel, hidden) and (..., hidden).
    weight_out, bias_out
        (..., middle, component) and (..., component).
    weight_middle, bias_middle
        (..., hidden, middle) and (..., middle); None where there is one hidden layer, as in stores of earlier versions.
    """
    active = _swish(_layer(vectors, weight_in, bias_in))
    if weight_middle is not None and bias_middle is not None:
        active = _swish(_layer(active, weight_middle, bias_middle))
    return _layer(active, weight_out, bias_out)


def _layer(vectors: AnyArray, weight: AnyArray, bias: AnyArray) -> AnyArray:
    return namespace(vectors).matmul(vectors, weight) + bias[..., None, :]


def _swish(values: AnyArray) -> AnyArray:
    """Smooth as GELU, and the same in numpy and torch without scipy."""
    return values / (1 + namespace(values).exp(-values))


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


def align(places: Floats, onto: Floats) -> Floats:
    """The places moved, turned or mirrored, and scaled as a whole, so that they lie near those they are laid onto.

    Orthogonal Procrustes (Schoenemann 1966) about both means. The one scale makes both equally large about their means;
    that of least squares makes a picture the smaller the worse it fits, and of a chain of pictures the last a dot.

    Parameters
    ----------
    places, onto
        (token, component), the same tokens in the same order.
    """
    from scipy.linalg import orthogonal_procrustes

    own, other = (one - one.mean(axis=0) for one in (places, onto))
    turn, _ = orthogonal_procrustes(own, other)
    size = np.linalg.norm(own)
    scale = np.linalg.norm(other) / size if size > 0 else 1.0
    aligned: Floats = scale * own @ turn + onto.mean(axis=0)
    return aligned
