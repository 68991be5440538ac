"""Attention weights of some queries of a sentence after others: those of a long sentence are never there all at once."""

from collections.abc import Iterator

import numpy as np

from store.kernels import AnyArray
from store.kernels.attention import attention_pattern
from store.kernels.bias import AttentionBias

#: Weights that are there at once: 16 MiB in float32. Of 8,000 tokens in 12 heads, an eighth of it takes two and a half times as long.
ROOM = 1 << 22


def attention_rows(
    query: AnyArray, key: AnyArray, *, bias: AttentionBias | None = None, room: int = ROOM
) -> Iterator[tuple[slice, AnyArray]]:
    """The rows of `attention_pattern`, as many at once as have `room` weights; at least one.

    Parameters
    ----------
    query, key
        (head, token, channel), before the 1/sqrt(channels) scale.
    bias
        What the model adds to the logits of these heads.

    Yields
    ------
    Which queries, and their weights (head, query_token, key_token).
    """
    heads, queries, keys = len(query), query.shape[-2], key.shape[-2]
    at_once = max(1, room // max(1, heads * keys))
    for first in range(0, queries, at_once):
        rows = slice(first, min(first + at_once, queries))
        of_rows = bias and bias.at(np.arange(rows.start, rows.stop), np.arange(keys))
        yield rows, attention_pattern(query[:, rows], key, bias=of_rows)
