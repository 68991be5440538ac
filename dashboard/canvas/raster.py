"""The same points drawn on the server, for a browser without WebGL2: one PNG, transparent where there is nothing."""

import io
from collections.abc import Sequence
from math import isqrt

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from dashboard.ui.theme import PALETTE, Scheme, rgb
from store.schema.model import ROLES

#: Pixels of a picture: a little more than a screen of 5120 x 2880 has.
MOST_PIXELS = 16_000_000


def draw_panels(
    points: NDArray[np.float32],
    *,
    columns: int,
    side: int,
    gap: int,
    scheme: Scheme,
    slots: Sequence[int] | None = None,
    title: int = 0,
) -> bytes:
    """A PNG of square panels, `side` pixels each with `gap` between: (panel, token, role, component) in 0..1.

    `slots` are the panels' places in the grid where some stay empty, `title` the pixels left above each. Sides are shorter
    where the picture would have more than `MOST_PIXELS`.
    """
    slots = range(len(points)) if slots is None else slots
    rows = -(-(max(slots) + 1) // columns)
    side = max(1, min(side, isqrt(MOST_PIXELS // (rows * columns)) - gap - title))
    image = np.zeros((rows * (side + gap + title) - gap, columns * (side + gap) - gap, 4), np.uint8)
    for slot, places in zip(slots, points, strict=True):
        row, column = divmod(slot, columns)
        top, left = row * (side + gap + title) + title, column * (side + gap)
        image[top : top + side, left : left + side] = draw_panel(places, side=side, scheme=scheme)
    buffer = io.BytesIO()
    Image.fromarray(image, "RGBA").save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def draw_panel(places: NDArray[np.float32], *, side: int, scheme: Scheme) -> NDArray[np.uint8]:
    """Pixels (y, x, RGBA) of one panel: hue by the share of queries and keys in the pixel, opacity by their number.

    A 3D picture is seen from its front: its third component is left out.
    """
    pixel = np.clip((places * (side - 1)).round().astype(np.int64), 0, side - 1)
    index = (side - 1 - pixel[..., 1]) * side + pixel[..., 0]
    counts = np.stack([np.bincount(index[:, role], minlength=side * side) for role in range(places.shape[1])], axis=-1)
    total = counts.sum(axis=-1, keepdims=True)
    drawn = np.flatnonzero(total)
    colours = np.array([rgb(PALETTE[scheme][role]) for role in ROLES[: places.shape[1]]], np.float64)
    mixed = counts[drawn] / total[drawn] @ colours
    opacity = 255 * (1 - 0.45 ** np.sqrt(total[drawn]))
    panel = np.zeros((side * side, 4), np.uint8)
    panel[drawn] = np.concatenate([mixed, opacity], axis=-1).round()
    return panel.reshape(side, side, 4)
