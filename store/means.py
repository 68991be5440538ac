"""Means over sentences from the sums of the blocks, as ingest stores them and as verification finds them again."""

import numpy as np
import zarr
from numpy.typing import NDArray

from store.groups import array_of
from store.kernels.statistics import mean_over_sentences

#: Blocks whose sums are in memory at once.
AT_ONCE = 64


def sum_of_blocks(group: zarr.Group, name: str, blocks: int) -> NDArray[np.float64 | np.int64]:
    """Sum of an array over its first `blocks` tasks, in the same order every time."""
    array = array_of(group, name)
    parts = [range(start, min(start + AT_ONCE, blocks)) for start in range(0, blocks, AT_ONCE)]
    total: NDArray[np.float64 | np.int64] = sum(
        (np.asarray(array[part.start : part.stop]).sum(axis=0) for part in parts),
        np.zeros(array.shape[1:], array.dtype),
    )
    return total


def means_of_blocks(group: zarr.Group, blocks: int) -> dict[str, NDArray[np.float64 | np.int64]]:
    """Every mean of `schema.MODEL_ARRAYS` over the sentences of the first `blocks` tasks, by its name, and `tokens_at`."""
    by_source, by_position = (sum_of_blocks(group, name, blocks) for name in ("block_count", "block_tokens_at"))
    counts = {
        "head_statistic": ("block_sum", by_source),
        "layer_mixing": ("block_mixing_sum", by_source),
        "head_profile": ("block_profile", by_source[:1]),
        "received_at": ("block_received_at", by_position),
    }
    means = {name: mean_over_sentences(sum_of_blocks(group, of, blocks), count) for name, (of, count) in counts.items()}
    return {**means, "tokens_at": by_position}
