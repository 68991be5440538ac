"""Attention itself: from queries and keys to the pattern, and the norm of what a token would hand on."""

from collections.abc import Sequence

import numpy as np

from store.kernels import AnyArray, as_float, namespace


def attention_logits(query: AnyArray, key: AnyArray) -> AnyArray:
    """Scaled dot products, q.k / sqrt(channel): (..., query_token, key_token) from (..., token, channel)."""
    xp = namespace(query)
    return xp.matmul(query, xp.swapaxes(key, -1, -2)) * query.shape[-1] ** -0.5


def attention_pattern(query: AnyArray, key: AnyArray, real: AnyArray | None = None) -> AnyArray:
    """Attention weights after the softmax; every row sums to 1 (Vaswani et al. 2017, section 3.2.1).

    Parameters
    ----------
    query, key
        (..., token, channel), before the 1/sqrt(channel) scale.
    real
        (..., key_token), True for tokens of the sentence; the others get weight 0. None: all are real.

    Returns
    -------
    (..., query_token, key_token) in the dtype of `query`.
    """
    xp = namespace(query)
    logits = attention_logits(query, key)
    if real is not None:
        logits = xp.where(real[..., None, :], logits, -float("inf"))
    return softmax(logits)


def softmax(logits: AnyArray) -> AnyArray:
    """Softmax over the last axis; torch's fused one where there is torch."""
    xp = namespace(logits)
    if hasattr(xp, "softmax"):
        return xp.softmax(logits, -1)
    weights = xp.exp(logits - xp.amax(logits, axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def output_gram(weight: AnyArray) -> AnyArray:
    """Gram matrix of each head's part of the output projection: (head, channel, channel).

    `weight` is (head, channel, feature), so that f(x) = value @ weight[head]; then ||f(x)||^2 = v G v'.
    The output projection's bias is not a part of f (Kobayashi et al. 2020, section 3).
    """
    xp = namespace(weight)
    return xp.matmul(weight, xp.swapaxes(weight, -1, -2))


def value_norm(value: AnyArray, gram: AnyArray) -> AnyArray:
    """||f(x)|| of every token for every head: (..., head, token) from values (..., head, token, channel).

    Kobayashi et al. 2020, equation 4: f(x) = (x W_V + b_V) W_O. `gram` is `output_gram` of the layer.
    """
    xp = namespace(value)
    square = (xp.matmul(value, gram) * value).sum(axis=-1)
    return xp.sqrt(xp.clip(square, 0, None))


def expansion_rate(
    value_weight: AnyArray, value_bias: AnyArray, output_weight: AnyArray, output_bias: AnyArray
) -> float:
    """How much x -> f(x) of all heads together lengthens a vector, the root mean square over directions; from the weights alone.

    The root of the mean square of the singular values of the affine map [x, 1] -> [f(x), 1] (Kobayashi et al. 2021,
    section 5); that sum of squares is the sum of the squares of the map's entries. As in the authors' code, whose numbers
    were published, the output projection's bias is one more column of it, though it is not a part of f.

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
    """Share of every input token in every token after each layer; rows sum to 1 (Abnar & Zuidema 2020, section 3).

    A = 0.5 W + 0.5 I, with W the mean over heads and I for the residual connection; rollout_l = A_l rollout_(l-1).

    Parameters
    ----------
    pattern
        (layer, head, query_token, key_token), the first layer first; rows sum to 1.

    Returns
    -------
    (layer, query_token, input_token) in the dtype of `pattern`.
    """
    xp = namespace(pattern)
    mixed = 0.5 * pattern.mean(axis=1) + 0.5 * as_float(np.eye(pattern.shape[-1]), like=pattern)
    traced = [mixed[0]]
    for layer in mixed[1:]:
        traced.append(xp.matmul(layer, traced[-1]))
    return xp.stack(traced)


#: Places of the wordpieces of each word on the token axis; none is empty.
Groups = Sequence[tuple[int, ...]]


def merge_words(pattern: AnyArray, queries: Groups, keys: Groups) -> AnyArray:
    """Attention between words; rows that sum to 1 still do (Clark et al. 2019, section 4.1).

    Attention to a word is the sum over its wordpieces, attention from a word the mean over its wordpieces.

    Parameters
    ----------
    pattern
        (..., query_token, key_token).
    queries, keys
        Wordpieces of the words that are wanted; a token that is in none is left out.

    Returns
    -------
    (..., query_word, key_word) in the dtype of `pattern`.
    """
    xp = namespace(pattern)
    from_words = xp.swapaxes(_summed(xp.swapaxes(pattern, -1, -2), queries, mean=True), -1, -2)
    return _summed(from_words, keys)


def _summed(weights: AnyArray, groups: Groups, *, mean: bool = False) -> AnyArray:
    """Sums, or means, over groups of the last axis."""
    total = weights[..., [group[0] for group in groups]]
    for place in range(1, max(map(len, groups), default=1)):
        longer = [number for number, group in enumerate(groups) if len(group) > place]
        total[..., longer] += weights[..., [groups[number][place] for number in longer]]
    for number, group in enumerate(groups if mean else ()):
        total[..., number] /= len(group)
    return total
