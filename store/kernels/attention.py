"""Attention patterns from queries and keys, attention between words, rollout, value norms, and mixing ratios.

A mixing ratio is the share of a token's vector that an attention block takes from other tokens (Kobayashi et al. 2021).
The output of the block for token i is the sum over heads and tokens j of p(i,j) f(x_j); the residual connection adds
x_i. The terms j = i and the residual are preserved, the others are mixed in (section 3). With f(x) = (x W_V + b_V) W_O
the whole sum is one product and its own part another: nothing of size (token, token, feature) is needed. The bias of
the output projection belongs to neither part.
"""

from collections.abc import Sequence

import numpy as np

from store.kernels import AnyArray, as_float, namespace
from store.schema.model import RATIOS

#: Indices of the wordpieces of each word; no word is empty.
Groups = Sequence[tuple[int, ...]]


def attention_logits(query: AnyArray, key: AnyArray, real: AnyArray | None = None) -> AnyArray:
    """Attention logits q.k / sqrt(channels) (Vaswani et al. 2017, section 3.2.1).

    Parameters
    ----------
    query, key
        (..., token, channel), before the 1/sqrt(channels) scale.
    real
        (..., key_token), False for padding, whose logits are minus infinite; None where there is no padding.

    Returns
    -------
    (..., query_token, key_token).
    """
    xp = namespace(query)
    logits = xp.matmul(query, xp.swapaxes(key, -1, -2)) * query.shape[-1] ** -0.5
    return logits if real is None else xp.where(real[..., None, :], logits, -float("inf"))


def attention_pattern(query: AnyArray, key: AnyArray, real: AnyArray | None = None) -> AnyArray:
    """Attention weights softmax(q.k / sqrt(channels)); every row sums to 1 (Vaswani et al. 2017, section 3.2.1).

    Parameters
    ----------
    query, key
        (..., token, channel), before the 1/sqrt(channels) scale.
    real
        (..., key_token), False for padding, which gets weight 0; None where there is no padding.

    Returns
    -------
    (..., query_token, key_token) in the dtype of `query`.
    """
    return softmax(attention_logits(query, key, real))


def softmax(logits: AnyArray) -> AnyArray:
    """Softmax over the last axis; for tensors torch's own."""
    xp = namespace(logits)
    if hasattr(xp, "softmax"):
        return xp.softmax(logits, -1)
    weights = xp.exp(logits - xp.amax(logits, axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def output_gram(weight: AnyArray) -> AnyArray:
    """Gram matrix G = W W' of each head's part W of the output projection, so that ||f(x)||^2 = v G v'.

    The bias of the output projection is not a part of f (Kobayashi et al. 2020, section 3).

    Parameters
    ----------
    weight
        (head, channel, feature), so that f(x) = value @ weight[head].

    Returns
    -------
    (head, channel, channel).
    """
    xp = namespace(weight)
    return xp.matmul(weight, xp.swapaxes(weight, -1, -2))


def value_norm(value: AnyArray, gram: AnyArray) -> AnyArray:
    """Value norm ||f(x)|| with f(x) = (x W_V + b_V) W_O (Kobayashi et al. 2020, equation 4).

    Parameters
    ----------
    value
        x W_V + b_V (..., head, token, channel).
    gram
        `output_gram` of the layer: (head, channel, channel).

    Returns
    -------
    (..., head, token).
    """
    xp = namespace(value)
    square = (xp.matmul(value, gram) * value).sum(axis=-1)
    return xp.sqrt(xp.clip(square, 0, None))


def expansion_rate(
    value_weight: AnyArray, value_bias: AnyArray, output_weight: AnyArray, output_bias: AnyArray
) -> float:
    """Root mean square gain of x -> f(x) of all heads together, from the weights alone.

    The root mean square of the singular values of the affine map [x, 1] -> [f(x), 1] (Kobayashi et al. 2021, section 5);
    their sum of squares is that of the entries of the map. As in the authors' code, whose numbers were published, the
    bias of the output projection is one more column of the map, though it is not a part of f.

    Parameters
    ----------
    value_weight, value_bias
        (feature, feature) and (feature,), so that value = x @ value_weight + value_bias.
    output_weight
        (feature, feature), so that f(x) = value @ output_weight.
    output_bias
        (feature,).
    """
    xp = namespace(value_weight)
    affine = xp.concatenate([value_weight, value_bias[None]], 0)
    squares = float((xp.matmul(affine, output_weight) ** 2).sum())
    column = xp.matmul(affine, output_bias)
    last = float((column[:-1] ** 2).sum() + (column[-1] + 1) ** 2)
    return float(((squares + last) / affine.shape[0]) ** 0.5)


def attention_rollout(pattern: AnyArray) -> AnyArray:
    """Attention rollout: share of each input token in each token after every layer; rows sum to 1.

    A = 0.5 W + 0.5 I, with W the mean pattern of the heads and I for the residual connection; rollout_l = A_l rollout_(l-1)
    (Abnar & Zuidema 2020, section 3).

    Parameters
    ----------
    pattern
        (layer, head, query_token, key_token), first layer first; rows sum to 1.

    Returns
    -------
    (layer, query_token, input_token) in the dtype of `pattern`.
    """
    xp = namespace(pattern)
    mixed = 0.5 * pattern.mean(axis=1) + 0.5 * as_float(np.eye(pattern.shape[-1]), like=pattern)
    rollout = [mixed[0]]
    for layer in mixed[1:]:
        rollout.append(xp.matmul(layer, rollout[-1]))
    return xp.stack(rollout)


def merge_words(pattern: AnyArray, queries: Groups, keys: Groups) -> AnyArray:
    """Attention between words: to a word the sum over its wordpieces, from a word their mean (Clark et al. 2019, section 4.1).

    Rows that sum to 1 still do.

    Parameters
    ----------
    pattern
        (..., query_token, key_token).
    queries, keys
        Wordpieces of the words of the result. Tokens that are in no word are left out.

    Returns
    -------
    (..., query_word, key_word) in the dtype of `pattern`.
    """
    xp = namespace(pattern)
    from_words = xp.swapaxes(_summed(xp.swapaxes(pattern, -1, -2), queries, mean=True), -1, -2)
    return _summed(from_words, keys)


def _summed(weights: AnyArray, groups: Groups, *, mean: bool = False) -> AnyArray:
    """Sums over groups of the last axis, or means."""
    total = weights[..., [group[0] for group in groups]]
    for place in range(1, max(map(len, groups), default=1)):
        longer = [number for number, group in enumerate(groups) if len(group) > place]
        total[..., longer] += weights[..., [groups[number][place] for number in longer]]
    for number, group in enumerate(groups if mean else ()):
        total[..., number] /= len(group)
    return total


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
