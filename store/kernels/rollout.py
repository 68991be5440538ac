"""Attention rollout: what a layer's tokens are made of, traced back through all layers to the input."""

import numpy as np

from store.kernels import AnyArray, as_float, namespace


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
