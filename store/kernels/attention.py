"""Attention itself: from queries and keys to the pattern, and the norm of what a token would hand on."""

from store.kernels import AnyArray, namespace


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
