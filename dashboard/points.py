"""Points of a view as bytes for the canvas: quantised, in the order of the corpus, so that a prefix is a fair sample.

Format, little-endian: `HSP1`, then u32 panels, tokens a panel, bytes a coordinate (1 or 2), then for every panel, token
and role (query, key) its x and y. Each panel is a square with one scale for x and y, so that distance means the same
in both directions.
"""

import struct

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store import Corpus

MAGIC = b"HSP1"
#: Points of a grid of heads: what keeps the first screen below 3 MB however many heads there are.
GRID_POINTS = 600_000
GRID_TOKENS = 2_000


def grid_tokens(corpus: Corpus) -> int:
    """Tokens drawn in every panel of the grid."""
    return min(GRID_TOKENS, max(1, GRID_POINTS // (2 * corpus.layers * corpus.heads)), corpus.n_tokens)


def grid_points(corpus: Corpus, view: str, tokens: int) -> NDArray[np.float32]:
    """Places of the first tokens in every head, scaled to 0..1: (panel, token, role, component)."""
    opened = corpus.view(view)
    rows = corpus.rows[:tokens]
    picture = opened.coordinates.isel(token=slice(0, int(rows[-1]) + 1)).values[:, :, :, rows]
    panels = picture.reshape(-1, *picture.shape[2:]).transpose(0, 2, 1, 3)
    low, high = (box.reshape(-1, box.shape[-1]) for box in _box(opened))
    return _scaled(panels, low, high)


def head_points(corpus: Corpus, view: str, layer: int, head: int, tokens: int) -> NDArray[np.float32]:
    """Places of the first tokens in one head, scaled to 0..1: (1, token, role, component)."""
    opened = corpus.view(view)
    rows = corpus.rows[:tokens]
    picture = opened.coordinates[layer, head, :, : int(rows[-1]) + 1].values[:, rows]
    low, high = _box(opened)
    return _scaled(picture.transpose(1, 0, 2)[None], low[layer, head][None], high[layer, head][None])


def encode(points: NDArray[np.float32], *, width: int) -> bytes:
    """The bytes of (panel, token, role, component) points in 0..1; `width` bytes a coordinate."""
    most, dtype = (255, np.uint8) if width == 1 else (65535, np.uint16)
    panels, tokens = points.shape[:2]
    places = np.clip(np.rint(points * most), 0, most).astype(dtype)
    return MAGIC + struct.pack("<3I", panels, tokens, width) + places.astype(places.dtype.newbyteorder("<")).tobytes()


def _box(opened: xr.Dataset) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Lowest and highest coordinate of every head over all tokens: (layer, head, component)."""
    tasks = slice(0, int(opened.attrs["blocks"]))
    return opened.block_low[tasks].values.min(axis=0), opened.block_high[tasks].values.max(axis=0)


def _scaled(points: NDArray[np.float32], low: NDArray[np.float32], high: NDArray[np.float32]) -> NDArray[np.float32]:
    """Into a square that holds the whole head: (panel, token, role, component) with boxes (panel, component)."""
    side = (high - low).max(axis=-1)[:, None, None, None]
    middle = ((low + high) / 2)[:, None, None, :]
    return ((points - middle) / np.where(side > 0, side, 1) + 0.5).astype(np.float32)
