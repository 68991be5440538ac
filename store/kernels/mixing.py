"""Mixing ratios: the share of a token's vector that an attention block takes from other tokens (Kobayashi et al. 2021).

The output of the block for token i is the sum over heads and tokens j of p(i,j) f(x_j); the residual connection adds
x_i. The terms j = i and the residual are preserved, the others are mixed in (section 3). With f(x) = (x W_V + b_V) W_O
the whole sum is one product and its own part another: nothing of size (token, token, feature) is needed. The bias of
the output projection belongs to neither part.
"""

from store.kernels import AnyArray, namespace
from store.schema.model import RATIOS


def own_part(to_self: AnyArray, value: AnyArray, output_weight: AnyArray) -> AnyArray:
    """Attention output of each token from itself: sum over heads of p(i,i) f(x_i).

    Parameters
    ----------
    to_self
        p(i,i) (..., token, head).
    value
        x W_V + b_V of each head (..., token, head, channel).
    output_weight
        W_O (head and channel, feature), so that f(x) = value @ output_weight.

    Returns
    -------
    (..., token, feature).
    """
    xp = namespace(value)
    weighted = value * to_self[..., None]
    return xp.matmul(weighted.reshape(*weighted.shape[:-2], -1), output_weight)


def attended_part(pattern: AnyArray, value: AnyArray, output_weight: AnyArray) -> AnyArray:
    """Attention output of each token from all tokens: sum over heads and tokens j of p(i,j) f(x_j).

    Computed in the precision of `own_part`: little may be left after subtracting it.

    Parameters
    ----------
    pattern
        p(i,j) (..., head, query_token, key_token).
    value, output_weight
        As in `own_part`.

    Returns
    -------
    (..., token, feature).
    """
    xp = namespace(value)
    context = xp.swapaxes(xp.matmul(pattern, xp.swapaxes(value, -3, -2)), -3, -2)
    return xp.matmul(context.reshape(*context.shape[:-2], -1), output_weight)


def mixing_ratios(to_self: AnyArray, attended: AnyArray, own: AnyArray, residual: AnyArray, gain: AnyArray) -> AnyArray:
    """Mixing ratios |mixed| / (|mixed| + |preserved|), in the order of `store.schema.model.RATIOS`.

    Parameters
    ----------
    to_self
        p(i,i) (..., token, head).
    attended
        Sum over heads and tokens j of p(i,j) f(x_j), without the bias: (..., token, feature).
    own
        `own_part` (..., token, feature).
    residual
        x (..., token, feature), the input of the block.
    gain
        gamma of the layer norm that follows (feature,). Its standard deviation divides both parts and its bias belongs
        to neither: the ratio needs neither.

    Returns
    -------
    (ratio, ..., token), each 0 to 1.
    """
    xp = namespace(attended)
    mixed, preserved = (_lengths(part, gain) for part in (attended - own, own + residual))
    by_weight = 1 - to_self.mean(axis=-1)
    by_name = {
        "attn_w": by_weight,
        "attnres_w": by_weight / 2,
        "attn_n": _share(mixed[0], xp.linalg.vector_norm(own, axis=-1)),
        "attnres_n": _share(mixed[0], preserved[0]),
        "attnresln_n": _share(mixed[1], preserved[1]),
    }
    return xp.stack([by_name[name] for name in RATIOS])


def _lengths(part: AnyArray, gain: AnyArray) -> tuple[AnyArray, AnyArray]:
    """|part| and |(part - its mean over features) gain|, each (..., token)."""
    xp = namespace(part)
    centred = part - part.mean(axis=-1)[..., None]
    centred *= centred
    return xp.linalg.vector_norm(part, axis=-1), xp.sqrt(xp.matmul(centred, gain * gain))


def _share(mixed: AnyArray, preserved: AnyArray) -> AnyArray:
    xp = namespace(mixed)
    return mixed / xp.clip(mixed + preserved, xp.finfo(mixed.dtype).tiny, None)
