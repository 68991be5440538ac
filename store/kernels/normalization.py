"""Normalise queries and keys without changing attention, so that distances agree with attention.

Attention is a softmax over keys: adding the same to all logits of a query changes nothing. k + a adds q.a to each; q c
with k / c, and an extra coordinate that is 0 in all queries, change no logit. Shifting queries is not allowed: (q + b).k
adds b.k, which differs between keys (AttentionViz, section 4).
"""

from store.kernels import AnyArray, namespace

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
    nearest = max(1, int(NEAREST_SHARE * distance.shape[-1]))
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
