"""Pictures of queries and keys: normalise, fit on a sample, place all tokens by the same formula, align two pictures.

Normalisation does not change attention, and makes distances agree with it. Attention is a softmax over keys: a term that is
added to all logits of a query has no effect. k + a adds q.a to each logit; q c with k / c, and an extra coordinate that is 0
in all queries, change no logit. Shifting queries is not allowed: (q + b).k adds b.k, which differs between keys (AttentionViz,
section 4).

Formulas of normalisation and placement take numpy or torch arrays, others numpy arrays. The end of the file has the fidelity of a
picture: how well distance on screen agrees with attention.
"""

import numpy as np
from numpy.typing import NDArray

from store.kernels import AnyArray, namespace

Floats = NDArray[np.floating]
#: Number of fitted points that `place_by_neighbours` averages.
NEIGHBOURS = 5
#: Share of pairs, the nearest ones, in the weighted correlation (0.5% in the scaling experiments of AttentionViz).
NEAREST_SHARE = 0.005
#: Smallest number of pairs for a correlation: two pairs always give 1 or -1.
FEWEST_PAIRS = 200
#: Number of neighbours that trustworthiness compares.
TRUSTED_NEIGHBOURS = 10


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
        See `moved`.
    radius
        See `exact_mode`; None for no exact mode.

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
    keys as attention does. Where keys lie in a subspace, the centre nearest to their mean is taken.

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
    of all distances. AttentionViz chooses its scale by this correlation.

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
    Mean (feature), axes (component, feature), share of the variance on each axis (component), 0 where nothing varies. Axes beyond the
    number of points or features are 0.
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
        (..., point, neighbour, component), positions of these fitted points.

    Returns
    -------
    (..., point, component).
    """
    weight = 1 / (squared_distance + 1e-6)
    return (weight[..., None] * fitted).sum(axis=-2) / weight.sum(axis=-1)[..., None]


def align(places: Floats, onto: Floats) -> Floats:
    """Shift, rotate or mirror, and scale a picture so that it lies as near as possible to another of the same tokens.

    Orthogonal Procrustes (Schoenemann 1966) about both means. The scale gives both pictures the same size about their
    means. The scale of least squares would shrink badly fitting pictures, and the last of a chain to a dot.

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


def screen_distance(query: Floats, key: Floats) -> Floats:
    """Euclidean distance of each query to each key: (..., query_token, key_token) from (..., token, component)."""
    return np.sqrt(_squared_distance(query, key))


def _squared_distance(query: Floats, key: Floats) -> Floats:
    """Squared distances, component by component: all differences at once would take several times the memory."""
    square: Floats = np.zeros((*query.shape[:-1], key.shape[-2]), query.dtype)
    for component in range(query.shape[-1]):
        difference = query[..., :, None, component] - key[..., None, :, component]
        square += difference * difference
    return square


def cosine_distance(query: Floats, key: Floats) -> Floats:
    """Cosine distance 1 - cos(q, k): (..., query_token, key_token) from (..., token, channel)."""
    norms = [np.linalg.norm(vectors, axis=-1) for vectors in (query, key)]
    lengths = norms[0][..., :, None] * norms[1][..., None, :]
    return 1 - query @ np.swapaxes(key, -1, -2) / np.where(lengths > 0, lengths, 1)


def centred_ranks(values: Floats) -> Floats:
    """Ranks along the last axis (mean ranks for ties), centred and scaled to length 1; 0 where all values are equal."""
    order = np.argsort(values, axis=-1)  # not stable, which takes several times as long
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, np.arange(values.shape[-1], dtype=float), axis=-1)
    ascending = np.take_along_axis(values, order, axis=-1)
    tied = (ascending[..., 1:] == ascending[..., :-1]).any(axis=-1)
    if tied.any():
        from scipy.stats import rankdata

        ranks[tied] = rankdata(values[tied], axis=-1) - 1
    ranks -= ranks.mean(axis=-1, keepdims=True)
    length = np.sqrt((ranks * ranks).sum(axis=-1, keepdims=True))
    return np.divide(ranks, length, out=np.zeros_like(ranks), where=length > 0)


def spearman(pattern: Floats, distance: Floats) -> Floats:
    """Spearman correlation of attention and distance over the keys of each query, mean over queries.

    -1 is a perfect picture: the nearer the key, the larger its weight (AttentionViz, section 5). Ties get mean ranks;
    a query with equal weights or equal distances counts as 0.

    Parameters
    ----------
    pattern, distance
        (..., query_token, key_token).

    Returns
    -------
    (...,), -1 to 1.
    """
    correlation: Floats = (centred_ranks(pattern) * centred_ranks(distance)).sum(axis=-1).mean(axis=-1)
    return correlation


def recall(pattern: Floats, distance: Floats, *, k: int) -> Floats:
    """Share of the k keys with the largest weights that are among the k nearest on screen, mean over queries.

    For a query with fewer than k weights above 0, as under a mask, k is the number of such weights.

    Parameters
    ----------
    pattern, distance
        (..., query_token, key_token).
    k
        Number of keys.

    Returns
    -------
    (...,), 0 to 1.
    """
    attended = np.argsort(-pattern, axis=-1, kind="stable")[..., :k]
    near = np.argsort(distance, axis=-1)[..., :k]
    most = np.minimum((pattern > 0).sum(axis=-1), k)
    counted = np.arange(attended.shape[-1]) < most[..., None]
    both = counted[..., :, None] & counted[..., None, :] & (attended[..., :, None] == near[..., None, :])
    found: Floats = (both.sum(axis=(-2, -1)) / most).mean(axis=-1)
    return found


def trustworthy(points: Floats, places: Floats, *, metric: str = "cosine") -> float:
    """Trustworthiness: whether neighbours on screen are neighbours among the vectors (Venna and Kaski 2001).

    Parameters
    ----------
    points
        Vectors, queries and keys together: (point, feature).
    places
        Positions of the points on screen: (point, component).
    metric
        Distance between vectors, as scikit-learn names it.

    Returns
    -------
    At most 1, which is best; NaN for fewer than three points.
    """
    from sklearn.metrics import pairwise_distances

    count = compared_neighbours(len(places))
    if not count:
        return float("nan")
    distance, square = pairwise_distances(points, metric=metric), _squared_distance(places, places)
    np.fill_diagonal(distance, -np.inf)
    np.fill_diagonal(square, np.inf)
    near = np.argpartition(square, count - 1, axis=1)[:, :count]
    # Count nearer points, the point itself included: no full order of neighbours is needed.
    ranks = np.stack([(distance < np.take_along_axis(distance, own[:, None], 1)).sum(axis=1) for own in near.T])
    return trust_of_excess(np.clip(ranks - count, 0, None).sum(), points=len(places))


def compared_neighbours(points: int) -> int:
    """Number of neighbours of each point that trustworthiness compares; 0 for too few points."""
    return max(0, min(TRUSTED_NEIGHBOURS, (points - 1) // 2))


def trust_of_excess(excess: float, *, points: int) -> float:
    """Trustworthiness of `points` points from `excess`, the total by which ranks of neighbours on screen are too high."""
    count = compared_neighbours(points)
    return float(1 - excess / (points * count * (2 * points - 3 * count - 1) / 2))
