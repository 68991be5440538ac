"""Lassos: polygons that a reader draws in a picture of points to select the points inside."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from store.phrases import whole_number

#: Most corners of a polygon, and their largest distance outside the picture in thousandths of its side.
MOST_CORNERS, FARTHEST = 200, 2_000
FEWEST_CORNERS = 3
Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Outline:
    """A polygon on the screen.

    `yaw` and `pitch` are the rotation of a 3D picture in degrees; `corners` are in thousandths of the square on screen, y up.
    """

    yaw: int
    pitch: int
    corners: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, text: str) -> "Outline | None":
        """The outline that `yaw,pitch,x1,y1,x2,y2,...` describes; None for an invalid text."""
        numbers = text.split(",")
        if len(numbers) > 2 + 2 * MOST_CORNERS or not all(_is_whole(number) for number in numbers):
            return None
        whole = [int(number) for number in numbers]
        corners = tuple(zip(whole[2::2], whole[3::2], strict=False))
        if len(whole) % 2 or len(corners) < FEWEST_CORNERS:
            return None
        near = tuple((_near(x), _near(y)) for x, y in corners)
        return cls(whole[0] % 360, whole[1] % 360, near)

    def __str__(self) -> str:
        return ",".join([f"{self.yaw},{self.pitch}", *(f"{x},{y}" for x, y in self.corners)])

    def holds(self, places: Floats) -> NDArray[np.bool_]:
        """Whether positions (..., component), 0 to 1 in the view's cube, are inside the outline: (...,)."""
        shown = on_screen(places, yaw=self.yaw, pitch=self.pitch)
        return inside(shown, np.array(self.corners) / 1000)


class Region:
    """A polygon in one picture of a set of points."""


@dataclass(frozen=True)
class Lasso(Region):
    """A polygon in the picture of one head."""

    view: str
    layer: int
    head: int
    outline: Outline

    @classmethod
    def parse(cls, text: str) -> "Lasso | None":
        """The lasso that `view,layer,head,yaw,pitch,x1,y1,x2,y2,...` describes; None for an invalid text."""
        view, layer, head, *rest = [*text.split(",", 3), "", ""]
        outline = Outline.parse(rest[0]) if _is_whole(layer) and _is_whole(head) else None
        return cls(view, int(layer), int(head), outline) if outline else None

    def __str__(self) -> str:
        return f"{self.view},{self.layer},{self.head},{self.outline}"

    def holds(self, places: Floats) -> NDArray[np.bool_]:
        """Whether positions (..., component), 0 to 1 in the view's cube, are inside the lasso: (...,)."""
        return self.outline.holds(places)


def on_screen(places: Floats, *, yaw: float, pitch: float) -> Floats:
    """Positions (..., component) projected to the screen: x and y in the square (..., 2). The canvas turns 3D pictures the same way."""
    if places.shape[-1] == 2:
        return places
    x, y, z = np.moveaxis(places - 0.5, -1, 0)
    turn, tilt = np.float32(np.radians(yaw)), np.float32(np.radians(pitch))
    across = np.cos(turn) * x + np.sin(turn) * z
    depth = np.cos(turn) * z - np.sin(turn) * x
    up = np.cos(tilt) * y - np.sin(tilt) * depth
    return np.stack([across, up], axis=-1) + np.float32(0.5)


def inside(points: Floats, polygon: Floats) -> NDArray[np.bool_]:
    """Whether points (..., 2) are inside a polygon (corner, 2), by the even-odd rule: (...,)."""
    flat = points.reshape(-1, 2)
    within = ((flat >= polygon.min(axis=0)) & (flat <= polygon.max(axis=0))).all(axis=1)
    near = np.flatnonzero(within)
    within[near] = _crossings_are_odd(flat[near, 0], flat[near, 1], polygon.astype(flat.dtype))
    return within.reshape(points.shape[:-1])


def _crossings_are_odd(x: Floats, y: Floats, polygon: Floats) -> NDArray[np.bool_]:
    """Whether a ray to the right of each point meets an odd number of edges."""
    odd = np.zeros(len(x), bool)
    for (x1, y1), (x2, y2) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        between = (y1 > y) != (y2 > y)
        # A level edge has no point between its ends: the result of the division by 1 is not used.
        odd ^= between & (x < x1 + (y - y1) * ((x2 - x1) / (y2 - y1 if y2 != y1 else 1)))
    return odd


def _is_whole(text: str) -> bool:
    return whole_number(text.removeprefix("-")) is not None


def _near(corner: int) -> int:
    return max(-FARTHEST, min(corner, 1000 + FARTHEST))
