"""Attention weights as bytes for the browser: every weight of one layer, or thumbnails of every head."""

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LAYER_MAGIC, MODEL_MAGIC = b"HSL1", b"HST1"
#: Largest code of a weight and of a thumbnail's cell.
MOST_WEIGHT, MOST_CELL = 65_535, 255

Floats = NDArray[np.floating]


def encode_layer(weights: Floats, *, shares: bool) -> bytes:
    """`HSL1`, u32 heads, queries, keys, f32 most, then u16 [head, query, key]: weight = u16 / 65535 * most.

    Parameters
    ----------
    weights
        (head, query, key).
    shares
        Whether no weight is above 1: then `most` is 1, otherwise the largest weight.
    """
    most = _most(weights, shares)
    head = LAYER_MAGIC + struct.pack("<3If", *weights.shape, most)
    return head + _codes(weights, most, MOST_WEIGHT).astype("<u2").tobytes()


def encode_model(layers: Sequence[Floats], *, shares: bool) -> bytes:
    """`HST1`, u32 layers, heads, rows, columns, f32 most, then u8 [layer, head, row, column]: weight = u8 / 255 * most.

    `layers` are thumbnails (head, row, column) of every layer; see `pooled`.
    """
    weights = np.stack(layers)
    most = _most(weights, shares)
    head = MODEL_MAGIC + struct.pack("<4If", *weights.shape, most)
    return head + _codes(weights, most, MOST_CELL).astype(np.uint8).tobytes()


def pooled(weights: Floats, *, side: int) -> Floats:
    """The largest weight of each cell of a thumbnail: (..., row, column), at most `side` each, from (..., query, key)."""
    for axis in (-2, -1):
        size = weights.shape[axis]
        if size > side:
            weights = np.maximum.reduceat(weights, np.arange(side) * size // side, axis=axis)
    return weights


def _most(weights: Floats, shares: bool) -> float:
    """As the browser reads it, in 32 bits."""
    largest = 1.0 if shares else float(np.float32(weights.max(initial=0)))
    return largest or 1.0


def _codes(weights: Floats, most: float, largest: int) -> Floats:
    return np.rint(np.clip(weights / np.float32(most), 0, 1) * np.float32(largest))
