"""Batches of sentences of like length, so that little of a forward pass is padding."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.text.blocks import Block


@dataclass(frozen=True)
class Batch:
    """Sentences of a block, padded to the longest: arrays (sentence, token)."""

    token_ids: NDArray[np.int64]
    real: NDArray[np.bool_]
    flags: NDArray[np.uint8]
    #: Row in the block of every real token, in the order of `real`.
    rows: NDArray[np.int64]


def group_by_length(lengths: NDArray[np.int32], *, tokens: int) -> list[NDArray[np.intp]]:
    """Indices of sentences in groups whose padded size is at most `tokens`; a longer sentence stands alone."""
    groups: list[NDArray[np.intp]] = []
    order = np.argsort(lengths, kind="stable")
    start = 0
    for stop in range(1, len(order) + 1):
        if stop == len(order) or (stop + 1 - start) * int(lengths[order[stop]]) > tokens:
            groups.append(order[start:stop])
            start = stop
    return groups


def make_batches(block: Block, *, tokens: int) -> list[Batch]:
    """Batches that hold every sentence of the block once."""
    offsets = np.concatenate([[0], np.cumsum(block.lengths)])
    return [_pad(block, offsets, group) for group in group_by_length(block.lengths, tokens=tokens)]


def _pad(block: Block, offsets: NDArray[np.int64], group: NDArray[np.intp]) -> Batch:
    lengths = block.lengths[group]
    real = np.arange(int(lengths.max())) < lengths[:, None]
    rows = (offsets[group][:, None] + np.arange(real.shape[1]))[real]
    token_ids = np.zeros(real.shape, np.int64)
    flags = np.zeros(real.shape, np.uint8)
    token_ids[real] = block.token_ids[rows]
    flags[real] = block.token_flags[rows]
    return Batch(token_ids, real, flags, rows)
