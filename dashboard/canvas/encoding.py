"""Points of a view as bytes for the canvas: quantised, in the order of the corpus, so that a prefix is a fair sample.

Format, little-endian: `HSP3`, then u32 panels, tokens a panel, roles of a token (2: query, key; 1: the token itself),
components (2 or 3), bytes a number (1 or 2), then for every panel, token and role its components, 0 to the largest number
across the view's square or cube. It has one scale for all components, so that distance means the same in every direction.
"""

import struct

import numpy as np
from numpy.typing import NDArray

from store import Corpus

MAGIC = b"HSP3"
#: Points of a grid of heads: what keeps the first screen below 3 MB however many heads there are.
GRID_POINTS = 600_000
GRID_TOKENS = 2_000


def grid_tokens(corpus: Corpus) -> int:
    """Tokens drawn in every panel of the grid."""
    return min(GRID_TOKENS, max(1, GRID_POINTS // (2 * corpus.layers * corpus.heads)), corpus.n_tokens)


def encode(points: NDArray[np.float32], *, width: int) -> bytes:
    """The bytes of (panel, token, role, component) points in 0..1; `width` bytes a number."""
    most, dtype = (255, "<u1") if width == 1 else (65535, "<u2")
    panels, tokens, roles, components = points.shape
    places = np.clip(np.rint(points * most), 0, most).astype(dtype)
    return MAGIC + struct.pack("<5I", panels, tokens, roles, components, width) + places.tobytes()
