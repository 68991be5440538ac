"""Ways to move queries and keys without changing attention, so that distance can stand for it."""

from store.kernels import AnyArray, namespace


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


def unit(vectors: AnyArray) -> AnyArray:
    """Vectors of length 1 in the same directions; a zero vector stays zero."""
    xp = namespace(vectors)
    norm = xp.sqrt((vectors * vectors).sum(axis=-1))[..., None]
    return vectors / xp.where(norm > 0, norm, 1)


def _append(vectors: AnyArray, channel: AnyArray) -> AnyArray:
    xp = namespace(vectors)
    return xp.concatenate([vectors, channel[..., None]], -1)
