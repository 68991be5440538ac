"""Ways to move queries and keys without changing attention, so that distance can stand for it.

Attention is a softmax over keys, so what adds the same to all keys of a query changes nothing: k + a adds q.a.
So does q c with k / c, and one more coordinate in which all queries are 0. Moving queries is not allowed: (q + b).k
adds b.k, which differs from key to key (AttentionViz, section 4).
"""

from store.kernels import AnyArray, namespace

#: The share of pairs, the nearest ones, that the weighted correlation looks at (AttentionViz's scaling experiments: 0.5 %).
NEAREST_SHARE = 0.005
#: With fewer pairs a correlation says nothing: two always give 1 or -1.
FEWEST_PAIRS = 200


def moved(query: AnyArray, key: AnyArray, *, scale: AnyArray, shift: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Query times c and key / c + a, which leave attention as it is.

    Parameters
    ----------
    query, key
        (..., token, channel).
    scale
        c (...,).
    shift
        a (..., channel).
    """
    return query * scale[..., None, None], key / scale[..., None, None] + shift[..., None, :]


def normalized(
    query: AnyArray, key: AnyArray, *, scale: AnyArray, shift: AnyArray, radius: AnyArray | None
) -> tuple[AnyArray, AnyArray]:
    """`moved`, then in exact mode where a radius (...,) is given: (..., token, channel [+ 1])."""
    query, key = moved(query, key, scale=scale, shift=shift)
    return (query, key) if radius is None else exact_mode(query, key, radius)


def exact_mode(query: AnyArray, key: AnyArray, radius: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Queries and keys in one more channel in which the cosine orders keys exactly as attention does.

    Every key gets the coordinate sqrt(radius^2 - |k|^2), every query a 0: dot products stay as they are, and all keys
    have length `radius`, so that for one query the cosine is q.k up to a constant.

    Parameters
    ----------
    query, key
        (..., token, channel).
    radius
        (...,), at least the longest key. A longer key gets a 0: its cosine is too small by |k| / radius.

    Returns
    -------
    Two arrays (..., token, channel + 1).
    """
    xp = namespace(query)
    missing = radius[..., None] ** 2 - (key * key).sum(axis=-1)
    height = xp.sqrt(xp.clip(missing, 0, None))
    return _append(query, xp.zeros_like(query[..., 0])), _append(key, height)


def centroid_shift(query: AnyArray, key: AnyArray) -> AnyArray:
    """Mean query - mean key (..., channel): brings the centres of both clouds together (AttentionViz, section 4.1)."""
    return query.mean(axis=-2) - key.mean(axis=-2)


def sphere_centre(key: AnyArray) -> AnyArray:
    """Centre (..., channel) of the sphere that fits the keys (..., token, channel) best, in the sense of least squares.

    |k|^2 = 2 k.centre + constant is linear in the unknowns. With keys on a sphere round the origin the cosine orders
    them as attention does. Where keys lie in a subspace the centre nearest to their mean is taken.
    """
    xp = namespace(key)
    mean = key.mean(axis=-2)
    centred = key - mean[..., None, :]
    square = (centred * centred).sum(axis=-1)
    moment = xp.matmul(xp.swapaxes(centred, -1, -2), (square - square.mean(axis=-1)[..., None])[..., None])
    covariance = xp.matmul(xp.swapaxes(centred, -1, -2), centred)
    return mean + 0.5 * xp.matmul(xp.linalg.pinv(covariance, hermitian=True), moment)[..., 0]


def unit(vectors: AnyArray) -> AnyArray:
    """Vectors of length 1 in the same directions; a zero vector stays zero."""
    xp = namespace(vectors)
    norm = xp.sqrt((vectors * vectors).sum(axis=-1))[..., None]
    return vectors / xp.where(norm > 0, norm, 1)


def weighted_correlation(dot: AnyArray, distance: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Correlation of dot product and distance over the nearest pairs, the nearer the heavier; -1 is best.

    AttentionViz's choice of the scale: pairs nearer than d, the 0.5 % quantile of all distances, with weight
    (d - distance)^2; cov(x, y; w) / sqrt(cov(x, x; w) cov(y, y; w)).

    Parameters
    ----------
    dot, distance
        (..., pair). numpy only.

    Returns
    -------
    The correlation (...,), NaN below `FEWEST_PAIRS`, and the number of pairs behind it (...,).
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
