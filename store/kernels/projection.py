"""From queries and keys to a picture: normalise, fit on a sample, place all tokens by the same formula, align two pictures.

To normalise does not change attention, and lets distances agree with it. Attention is a softmax over keys: adding the same
to all logits of a query changes nothing. k + a adds q.a to each; q c with k / c, and an extra coordinate that is 0 in all
queries, change no logit. Shifting queries is not allowed: (q + b).k adds b.k, which differs between keys (AttentionViz,
section 4).

Formulas that normalise and that place tokens take numpy or torch arrays, the others numpy arrays.
"""

import numpy as np
from numpy.typing import NDArray

from store.kernels import AnyArray, namespace

Floats = NDArray[np.floating]
#: Fitted points that `place_by_neighbours` averages.
NEIGHBOURS = 5
#: Share of pairs, the nearest, that enter the weighted correlation (0.5% in the scaling experiments of AttentionViz).
NEAREST_SHARE = 0.005
#: Smallest number of pairs for a correlation: two pairs always give 1 or -1.
FEWEST_PAIRS = 200


def moved(query: AnyArray, key: AnyArray, *, scale: AnyArray, shift: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Scale and shift: query * c and key / c + a. Attention does not change.

    Parameters
    ----------
    query, key
        (..., token, channel).
    scale
        c (...,).
    shift
        a (..., channel).

    Returns
    -------
    Two arrays (..., token, channel).
    """
    return query * scale[..., None, None], key / scale[..., None, None] + shift[..., None, :]


def normalized(
    query: AnyArray, key: AnyArray, *, scale: AnyArray, shift: AnyArray, radius: AnyArray | None
) -> tuple[AnyArray, AnyArray]:
    """Scale and shift, then exact mode where there is a radius. Attention does not change.

    Parameters
    ----------
    query, key, scale, shift
        As in `moved`.
    radius
        As in `exact_mode`; None for no exact mode.

    Returns
    -------
    Two arrays (..., token, channel), in exact mode (..., token, channel + 1).
    """
    query, key = moved(query, key, scale=scale, shift=shift)
    return (query, key) if radius is None else exact_mode(query, key, radius)


def exact_mode(query: AnyArray, key: AnyArray, radius: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Add a channel so that the cosine ranks the keys of a query exactly as attention does.

    Each key gets the coordinate sqrt(radius^2 - |k|^2), each query a 0: dot products do not change, and all keys have
    norm `radius`, so that the cosine is q.k up to a constant of the query.

    Parameters
    ----------
    query, key
        (..., token, channel).
    radius
        (...,), at least the largest key norm. A longer key gets a 0: its cosine is too small by |k| / radius.

    Returns
    -------
    Two arrays (..., token, channel + 1).
    """
    xp = namespace(query)
    missing = radius[..., None] ** 2 - (key * key).sum(axis=-1)
    height = xp.sqrt(xp.clip(missing, 0, None))
    return _append(query, xp.zeros_like(query[..., 0])), _append(key, height)


def centroid_shift(query: AnyArray, key: AnyArray) -> AnyArray:
    """Mean query - mean key (..., channel): the shift of keys that joins both centroids (AttentionViz, section 4.1)."""
    return query.mean(axis=-2) - key.mean(axis=-2)


def sphere_centre(key: AnyArray) -> AnyArray:
    """Centre of the sphere that fits the keys best by least squares.

    |k|^2 = 2 k.centre + constant is linear in the unknowns. With keys on a sphere around the origin, the cosine ranks
    them as attention does. Where keys lie in a subspace, the centre nearest to their mean is taken.

    Parameters
    ----------
    key
        (..., token, channel).

    Returns
    -------
    (..., channel).
    """
    xp = namespace(key)
    mean = key.mean(axis=-2)
    centred = key - mean[..., None, :]
    square = (centred * centred).sum(axis=-1)
    moment = xp.matmul(xp.swapaxes(centred, -1, -2), (square - square.mean(axis=-1)[..., None])[..., None])
    covariance = xp.matmul(xp.swapaxes(centred, -1, -2), centred)
    return mean + 0.5 * xp.matmul(xp.linalg.pinv(covariance, hermitian=True), moment)[..., 0]


def unit(vectors: AnyArray) -> AnyArray:
    """Vectors scaled to norm 1: (..., channel). A zero vector stays zero."""
    xp = namespace(vectors)
    norm = xp.sqrt((vectors * vectors).sum(axis=-1))[..., None]
    return vectors / xp.where(norm > 0, norm, 1)


def weighted_correlation(dot: AnyArray, distance: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Weighted correlation of dot product and distance over the nearest pairs; -1 is best.

    cov(x, y; w) / sqrt(cov(x, x; w) cov(y, y; w)) with w = (d - distance)^2 over pairs nearer than d, the 0.5% quantile
    of all distances. AttentionViz chooses its scale by it.

    Parameters
    ----------
    dot, distance
        (..., pair). numpy only.

    Returns
    -------
    Correlation (...,), NaN below `FEWEST_PAIRS` pairs, and number of pairs (...,).
    """
    xp = namespace(dot)
    nearest = min(max(1, int(NEAREST_SHARE * distance.shape[-1])), distance.shape[-1] - 1)
    near = xp.argpartition(distance, nearest, axis=-1)[..., : nearest + 1]
    dot, distance = xp.take_along_axis(dot, near, -1), xp.take_along_axis(distance, near, -1)
    weight = (distance.max(axis=-1, keepdims=True) - distance) ** 2
    pairs = (weight > 0).sum(axis=-1)
    total = weight.sum(axis=-1)
    x, y = (values - _mean(values, weight, total)[..., None] for values in (dot, distance))
    scale = xp.sqrt((weight * x * x).sum(axis=-1) * (weight * y * y).sum(axis=-1))
    enough = (pairs >= FEWEST_PAIRS) & (scale > 0)
    return xp.where(enough, (weight * x * y).sum(axis=-1) / xp.where(scale > 0, scale, 1), xp.nan), pairs


def _mean(values: AnyArray, weight: AnyArray, total: AnyArray) -> AnyArray:
    return (weight * values).sum(axis=-1) / (total + (total == 0))


def _append(vectors: AnyArray, channel: AnyArray) -> AnyArray:
    xp = namespace(vectors)
    return xp.concatenate([vectors, channel[..., None]], -1)


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
    Mean (feature), axes (component, feature), share of the variance on each axis (component), 0 where nothing varies. Axes that so few points
    or features do not have are 0.
    """
    from sklearn.decomposition import PCA

    found = min(components, *points.shape)
    if len(points) < 2:
        return points.mean(axis=0), np.zeros((components, points.shape[1]), points.dtype), np.zeros(components)
    with np.errstate(invalid="ignore"):
        pca = PCA(n_components=found, svd_solver="covariance_eigh").fit(points)
    axes, shares = pca.components_, np.nan_to_num(pca.explained_variance_ratio_)
    if found < components:
        axes, shares = np.pad(axes, ((0, components - found), (0, 0))), np.pad(shares, (0, components - found))
    return pca.mean_, axes, shares


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
