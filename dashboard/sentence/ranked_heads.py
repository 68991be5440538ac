"""Which heads attend from one token to another."""

from typing import NamedTuple

import numpy as np

from dashboard.sentence.sentence import Sentence
from store.kernels.attention import attention_pattern


class RankedHead(NamedTuple):
    """A head, its weight from the query to the key, and the key's rank in the query's row: 1 is its most attended key."""

    layer: int
    head: int
    weight: float
    rank_in_row: int


def ranked_heads(sentence: Sentence, query: int, key: int) -> list[RankedHead]:
    """Every head by its weight from one position to another, the strongest first; of equal ones the first."""
    rows = attention_pattern(sentence.query[:, :, query : query + 1], sentence.key)[:, :, 0]
    weights = rows[:, :, key]
    ranks = 1 + (rows > weights[..., None]).sum(axis=-1)
    order = np.argsort(-weights, axis=None, kind="stable")
    layers, heads = (axis.tolist() for axis in np.unravel_index(order, weights.shape))
    return [
        RankedHead(layer, head, float(weights[layer, head]), int(ranks[layer, head]))
        for layer, head in zip(layers, heads, strict=True)
    ]
