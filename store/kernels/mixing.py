"""How much a token's vector is mixed with those of others in an attention block: the ratios of Kobayashi et al. 2021.

The block's output for token i is the sum over heads and tokens j of p(i,j) f(x_j), and the residual connection adds
x_i. What comes from j = i and from the residual is preserved, the rest is mixed in (section 3). With f(x) = (x W_V + b_V) W_O
nothing of size (token, token, feature) is needed: the whole sum is one product, and what is its own another.
The output projection's bias belongs to neither part.
"""

from store.kernels import AnyArray, namespace
from store.schema.model import RATIOS


def own_part(to_self: AnyArray, value: AnyArray, output_weight: AnyArray) -> AnyArray:
    """What attention hands each token of itself, sum over heads of p(i,i) f(x_i): (..., token, feature).

    Parameters
    ----------
    to_self
        p(i,i) (..., token, head).
    value
        x W_V + b_V of each head (..., token, head, channel).
    output_weight
        W_O (head and channel, feature), so that f(x) = value @ output_weight.
    """
    xp = namespace(value)
    weighted = value * to_self[..., None]
    return xp.matmul(weighted.reshape(*weighted.shape[:-2], -1), output_weight)


def attended_part(pattern: AnyArray, value: AnyArray, output_weight: AnyArray) -> AnyArray:
    """What attention hands each token of all, sum over heads and tokens j of p(i,j) f(x_j): (..., token, feature).

    Parameters
    ----------
    pattern
        p(i,j) (..., head, query_token, key_token).
    value, output_weight
        As in `own_part`. What is computed elsewhere in fewer bits would not do: little may be left when the own part is taken away.
    """
    xp = namespace(value)
    context = xp.swapaxes(xp.matmul(pattern, xp.swapaxes(value, -3, -2)), -3, -2)
    return xp.matmul(context.reshape(*context.shape[:-2], -1), output_weight)


def mixing_ratios(to_self: AnyArray, attended: AnyArray, own: AnyArray, residual: AnyArray, gain: AnyArray) -> AnyArray:
    """The ratios of `schema.RATIOS`, in that order, each 0 to 1: (ratio, ..., token).

    Parameters
    ----------
    to_self
        p(i,i) (..., token, head).
    attended
        Sum over heads and tokens j of p(i,j) f(x_j), without the bias: (..., token, feature).
    own
        Its part of j = i, `own_part`: (..., token, feature).
    residual
        x (..., token, feature), what the block was given.
    gain
        gamma of the layer norm that follows (feature,). Its standard deviation divides both parts, and its bias belongs to
        neither, so that the ratio needs neither.
    """
    xp = namespace(attended)
    mixed, kept = attended - own, own + residual
    by_weight = 1 - to_self.mean(axis=-1)
    by_name = {
        "attn_w": by_weight,
        "attnres_w": by_weight / 2,
        "attn_n": _share(_length(mixed), _length(own)),
        "attnres_n": _share(_length(mixed), _length(kept)),
        "attnresln_n": _share(_length(_scaled(mixed, gain)), _length(_scaled(kept, gain))),
    }
    return xp.stack([by_name[name] for name in RATIOS])


def _scaled(part: AnyArray, gain: AnyArray) -> AnyArray:
    return (part - part.mean(axis=-1)[..., None]) * gain


def _length(vectors: AnyArray) -> AnyArray:
    return namespace(vectors).sqrt((vectors * vectors).sum(axis=-1))


def _share(mixed: AnyArray, kept: AnyArray) -> AnyArray:
    xp = namespace(mixed)
    return mixed / xp.clip(mixed + kept, xp.finfo(mixed.dtype).tiny, None)
