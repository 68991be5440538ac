"""Context mixing: shares of a token's vector from each token of its sentence, with norms and residuals.

The sum after the attention of a layer, without biases, which belong to no token, is y_i = sum over tokens j of y_ij with

    y_ij = sum over heads h of p_h(i,j) f_h(x_j), plus x_i where j = i,        f_h(x) = (x W_V + b_V) W_O of the head

(Kobayashi et al. 2021, section 3). A norm that the residual runs through maps it to M y = gain (y - mean y), divided by a standard deviation
that is the same for all j. GlobEnc (Modarressi et al. 2022, section 3) takes the norm after attention and the norm after the feed-forward
network, but not the output of this network: the matrix of a layer is |M y_ij| with each row divided by its sum: deviations cancel.

With a = p(i,j) of all heads, |M y_ij|^2 = a G_j a', plus 2 a c_j' + q_j where j = i, where G_j holds the inner products of M f_h(x_j), c_j
their products with M x_j, and q_j = |M x_j|^2. A token has H (H + 1) / 2 + H + 1 such products, which give the matrix of any pattern.

A mixing ratio is the share of a token's vector that an attention block takes from other tokens (Kobayashi et al. 2021).
The output of the block for token i is the sum over heads and tokens j of p(i,j) f(x_j); the residual connection adds
x_i. The terms j = i and the residual are preserved, the other terms are mixed in (section 3). With f(x) = (x W_V + b_V) W_O
the whole sum is one product and the token's own part another: no array (token, token, feature) is needed. The bias of
the output projection belongs to neither part.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from store.kernels import AnyArray, as_float, namespace
from store.schema.model import RATIOS


def count_products(heads: int) -> int:
    """Number of inner products of a token in a layer of `heads` heads."""
    return heads * (heads + 1) // 2 + heads + 1


@dataclass(frozen=True)
class ResidualNorms:
    """The norms of a layer that its residual passes, without their deviations.

    Attributes
    ----------
    gains
        Gain of each norm (feature,), in the order in which the residual passes them; empty where it passes none.
    centred
        Whether the norms subtract the mean of a vector.
    """

    gains: Sequence[AnyArray]
    centred: bool

    def through(self, vectors: AnyArray) -> AnyArray:
        """Vectors (..., feature) after the norms, without division by deviations."""
        for gain in self.gains:
            vectors = (vectors - vectors.mean(-1)[..., None] if self.centred else vectors) * gain
        return vectors


@dataclass(frozen=True)
class ProductMap:
    """Matrices that map the values of a layer's heads and its input to the layer's inner products.

    Attributes
    ----------
    norms
        Norms that the residual passes.
    heads
        For each head h, products of its part of the output projection with the parts of heads from h on: (channel, later head, channel).
    residual
        Maps the layer's input after the norms to its products with the parts of all heads: (feature, head and channel).
    """

    norms: ResidualNorms
    heads: Sequence[AnyArray]
    residual: AnyArray

    @classmethod
    def of(cls, output_weight: AnyArray, norms: ResidualNorms) -> "ProductMap":
        """The map of a layer from its output projection (head, channel, feature), W_O of each head."""
        xp = namespace(output_weight)
        after = norms.through(output_weight)
        flat = after.reshape(-1, after.shape[-1])
        heads, channels, _ = after.shape
        return cls(
            norms,
            [
                xp.matmul(own, flat[head * channels :].T).reshape(channels, heads - head, channels)
                for head, own in enumerate(after)
            ],
            flat.T,
        )


def mixing_products(value: AnyArray, layer_input: AnyArray, of_layer: ProductMap) -> AnyArray:
    """Inner products of a token's contributions to any token: G, c and q of this module.

    Parameters
    ----------
    value
        x W_V + b_V of each head: (token, head, channel).
    layer_input
        x, the input of the layer: (token, feature).
    of_layer
        Map of the layer, made once.

    Returns
    -------
    (token, product): the upper triangle of G row by row, then c, then q.
    """
    xp = namespace(value)
    tokens, heads, _ = value.shape
    residual = of_layer.norms.through(layer_input)
    pairs = [
        (
            xp.matmul(value[:, head], of_head.reshape(of_head.shape[0], -1)).reshape(tokens, heads - head, -1)
            * value[:, head:]
        ).sum(-1)
        for head, of_head in enumerate(of_layer.heads)
    ]
    crossed = (xp.matmul(residual, of_layer.residual).reshape(value.shape) * value).sum(-1)
    return xp.concatenate([*pairs, crossed, (residual * residual).sum(-1)[:, None]], -1)


def mixing_matrix(pattern: AnyArray, products: AnyArray, queries: NDArray[np.integer] | None = None) -> AnyArray:
    """Context mixing of one layer by GlobEnc: |M y_ij|, each row divided by its sum.

    Parameters
    ----------
    pattern
        p(i,j) of all heads: (head, query_token, key_token).
    products
        `mixing_products` of the tokens: (key_token, product). A common factor has no effect.
    queries
        Position of each query among the keys; None where queries are all tokens in order.

    Returns
    -------
    (query_token, key_token) in the dtype of `pattern`; rows sum to 1.
    """
    xp = namespace(pattern)
    heads, rows, tokens = pattern.shape
    own = np.arange(tokens) if queries is None else queries
    first, second = _upper_triangle(heads)
    gram = as_float(np.zeros((tokens, heads, heads)), like=pattern)
    gram[:, first, second] = products[:, : len(first)]
    gram[:, second, first] = products[:, : len(first)]
    by_key = pattern.transpose(2, 1, 0) if xp is np else pattern.permute(2, 1, 0)
    squares = (xp.matmul(by_key, gram) * by_key).sum(-1).T
    to_self = pattern[:, np.arange(rows), own]
    squares[np.arange(rows), own] += 2 * (to_self * products[own, len(first) : -1].T).sum(0) + products[own, -1]
    lengths = xp.sqrt(xp.clip(squares, 0, None))
    return lengths / xp.clip(lengths.sum(-1), xp.finfo(lengths.dtype).tiny, None)[:, None]


@lru_cache(maxsize=8)
def _upper_triangle(heads: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the products of heads, cached: to compute them took a quarter of the time of a short sentence."""
    return np.triu_indices(heads)


def roll_out(matrices: Iterable[AnyArray]) -> AnyArray:
    """Share of each input token in each token after every layer: the product of the layers' matrices (Abnar & Zuidema 2020, section 3).

    Parameters
    ----------
    matrices
        (query_token, key_token) of each layer, first layer first, with the residual included.

    Returns
    -------
    (layer, query_token, input_token).
    """
    shares: list[AnyArray] = []
    for matrix in matrices:
        shares.append(namespace(matrix).matmul(matrix, shares[-1]) if shares else matrix)
    return namespace(shares[0]).stack(shares)


def layer_matrix(
    method: str,
    pattern: AnyArray,
    *,
    value_norm: AnyArray = None,
    products: AnyArray = None,
    queries: NDArray[np.integer] | None = None,
) -> AnyArray:
    """Share of each query's vector from each key in one layer, by a method of `store.schema.mixing.METHODS`.

    Parameters
    ----------
    method
        Name of the method.
    pattern
        (head, query_token, key_token).
    value_norm
        Value norms of the keys, for `norm`: (head, key_token).
    products
        `mixing_products` of the keys, for `globenc`: (key_token, product).
    queries
        See `mixing_matrix`.

    Returns
    -------
    (query_token, key_token); rows sum to 1.
    """
    if method == "globenc":
        return mixing_matrix(pattern, products, queries)
    if method == "norm":
        lengths = (pattern * value_norm[:, None]).sum(0)
        return lengths / lengths.sum(-1)[:, None]
    mean = pattern.mean(0)
    if method == "rollout":
        mean = mean / 2
        mean[np.arange(len(mean)), np.arange(len(mean)) if queries is None else queries] += 0.5
    return mean


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

    The precision is that of `own_part`, as their difference may be small.

    Parameters
    ----------
    pattern
        p(i,j) (..., head, query_token, key_token).
    value, output_weight
        See `own_part`.

    Returns
    -------
    (..., token, feature).
    """
    xp = namespace(value)
    context = xp.swapaxes(xp.matmul(pattern, xp.swapaxes(value, -3, -2)), -3, -2)
    return xp.matmul(context.reshape(*context.shape[:-2], -1), output_weight)


def mixing_ratios(
    to_self: AnyArray, attended: AnyArray, own: AnyArray, residual: AnyArray, gain: AnyArray, *, centred: bool = True
) -> AnyArray:
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
        gamma of the following layer norm (feature,), which subtracts the mean of a vector if `centred`. Its standard deviation
        divides both parts and its bias belongs to neither part, so the ratio depends on neither.

    Returns
    -------
    (ratio, ..., token), each 0 to 1.
    """
    xp = namespace(attended)
    mixed, preserved = (_lengths(part, gain, centred) for part in (attended - own, own + residual))
    by_weight = 1 - to_self.mean(axis=-1)
    by_name = {
        "attn_w": by_weight,
        "attnres_w": by_weight / 2,
        "attn_n": _share(mixed[0], xp.linalg.vector_norm(own, axis=-1)),
        "attnres_n": _share(mixed[0], preserved[0]),
        "attnresln_n": _share(mixed[1], preserved[1]),
    }
    return xp.stack([by_name[name] for name in RATIOS])


def _lengths(part: AnyArray, gain: AnyArray, centred: bool) -> tuple[AnyArray, AnyArray]:
    """Lengths |part| and |(part - its mean over features) gain|, or |part gain|, each (..., token)."""
    xp = namespace(part)
    squares = part - part.mean(axis=-1)[..., None] if centred else part * 1
    squares *= squares
    return xp.linalg.vector_norm(part, axis=-1), xp.sqrt(xp.matmul(squares, gain * gain))


def _share(mixed: AnyArray, preserved: AnyArray) -> AnyArray:
    xp = namespace(mixed)
    return mixed / xp.clip(mixed + preserved, xp.finfo(mixed.dtype).tiny, None)
