"""Attention by relative distance and by absolute position, summed over sentences."""

from store.kernels import AnyArray, as_float, namespace
from store.schema import FARTHEST


def summed_pattern(pattern: AnyArray, real: AnyArray) -> AnyArray:
    """Sum over sentences of the pattern, each row divided by the rows of its sentence: (head, query_token, key_token).

    Its columns sum to the mean weight on a position over a sentence's rows (Clark et al. 2019), summed over sentences.

    Parameters
    ----------
    pattern
        (sentence, head, query_token, key_token); weight 0 on keys that are not real.
    real
        (sentence, token), False for padding, whose rows are not counted.
    """
    rows = as_float(real, like=pattern)
    share = rows / rows.sum(axis=-1)[:, None]
    return (pattern * share[:, None, :, None]).sum(axis=0)


def offset_profile(summed: AnyArray) -> AnyArray:
    """Weight at each key - query of `schema.OFFSETS`, summed over rows: (offset, head) from (head, query, key).

    The first and the last offset are all that is farther than `schema.FARTHEST`.
    """
    xp = namespace(summed)
    by_offset = _diagonal_sums(summed)
    middle = by_offset.shape[-1] // 2
    before, near, after = (
        by_offset[:, : middle - FARTHEST],
        by_offset[:, middle - FARTHEST : middle + FARTHEST + 1],
        by_offset[:, middle + FARTHEST + 1 :],
    )
    farther = [part.sum(axis=-1)[:, None] for part in (before, after)]
    return xp.concatenate([farther[0], near, farther[1]], -1).T


def _diagonal_sums(square: AnyArray) -> AnyArray:
    """Sums along the diagonals, the main one in the middle: (head, offset); at least `FARTHEST` on each side.

    Row i is moved by n - 1 - i places, so that a diagonal becomes a column: written into rows of 2 n, read as rows of 2 n - 1.
    """
    xp = namespace(square)
    heads, tokens = square.shape[0], square.shape[-1]
    upside_down = xp.flip(square, (-2,))
    wide = xp.concatenate([upside_down, xp.zeros_like(square)], -1).reshape(heads, -1)
    sums = wide[:, : tokens * (2 * tokens - 1)].reshape(heads, tokens, 2 * tokens - 1).sum(axis=1)
    if tokens > FARTHEST:
        return sums
    room = as_float(xp.zeros((heads, FARTHEST + 1 - tokens)), like=sums)
    return xp.concatenate([room, sums, room], -1)
