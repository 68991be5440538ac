"""Project vectors onto a picture: fit on a sample, place all tokens by the same formula, align two pictures.

Formulas that place tokens take numpy or torch arrays, the others numpy arrays.
"""

import numpy as np
from numpy.typing import NDArray

from store.kernels import AnyArray, namespace

Floats = NDArray[np.floating]

#: Fitted points that `place_by_neighbours` averages.
NEIGHBOURS = 5


def fit_pca(points: Floats, *, components: int) -> tuple[Floats, Floats, Floats]:
    """Principal component analysis by scikit-learn's exact solver, whose signs are deterministic.

    Parameters
    ----------
    points
        (point, feature).
    components
        Number of components.

    Returns
    -------
    Mean (feature), axes (component, feature), share of the variance on each axis (component), 0 where nothing varies.
    """
    from sklearn.decomposition import PCA

    with np.errstate(invalid="ignore"):
        pca = PCA(n_components=components, svd_solver="covariance_eigh").fit(points)
    return pca.mean_, pca.components_, np.nan_to_num(pca.explained_variance_ratio_)


def place(points: AnyArray, mean: AnyArray, axes: AnyArray) -> AnyArray:
    """Project points onto fitted axes: (point - mean) axes'.

    Parameters
    ----------
    points
        (..., point, feature).
    mean
        (..., feature).
    axes
        (..., component, feature).

    Returns
    -------
    (..., point, component).
    """
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
    """Project vectors by a network with one or two hidden layers of x / (1 + exp(-x)).

    Parameters
    ----------
    vectors
        (..., token, channel).
    weight_in, bias_in
        (..., channel, hidden) and (..., hidden).
    weight_out, bias_out
        (..., middle, component) and (..., component).
    weight_middle, bias_middle
        (..., hidden, middle) and (..., middle); None for one hidden layer, as in stores of earlier versions.

    Returns
    -------
    (..., token, component).
    """
    active = _swish(_layer(vectors, weight_in, bias_in))
    if weight_middle is not None and bias_middle is not None:
        active = _swish(_layer(active, weight_middle, bias_middle))
    return _layer(active, weight_out, bias_out)


def _layer(vectors: AnyArray, weight: AnyArray, bias: AnyArray) -> AnyArray:
    return namespace(vectors).matmul(vectors, weight) + bias[..., None, :]


def _swish(values: AnyArray) -> AnyArray:
    """Swish, x / (1 + exp(-x)): smooth like GELU, and the same in numpy and torch without scipy."""
    return values / (1 + namespace(values).exp(-values))


def place_by_neighbours(squared_distance: AnyArray, fitted: AnyArray) -> AnyArray:
    """Place points at the mean of their nearest fitted points, weighted by 1 / (squared distance + 1e-6).

    Parameters
    ----------
    squared_distance
        (..., point, neighbour), squared distances in head space to the nearest fitted points.
    fitted
        (..., point, neighbour, component), their positions.

    Returns
    -------
    (..., point, component).
    """
    weight = 1 / (squared_distance + 1e-6)
    return (weight[..., None] * fitted).sum(axis=-2) / weight.sum(axis=-1)[..., None]


def align(places: Floats, onto: Floats) -> Floats:
    """Shift, rotate or mirror, and scale a picture so that it lies as near as possible to another of the same tokens.

    Orthogonal Procrustes (Schoenemann 1966) about both means. The scale gives both pictures the same size about their
    means; the scale of least squares shrinks a picture the more, the worse it fits, and the last of a chain to a dot.

    Parameters
    ----------
    places, onto
        (token, component), the same tokens in the same order.

    Returns
    -------
    (token, component).
    """
    from scipy.linalg import orthogonal_procrustes

    own, other = (picture - picture.mean(axis=0) for picture in (places, onto))
    rotation, _ = orthogonal_procrustes(own, other)
    size = np.linalg.norm(own)
    scale = np.linalg.norm(other) / size if size > 0 else 1.0
    aligned: Floats = scale * own @ rotation + onto.mean(axis=0)
    return aligned
