"""A set of points: the same tokens in one panel or in several, and the columns by which they are coloured, sized and filtered.

Queries and keys of heads, tokens at feature points, and either in two models are three of them. What a reader selects, what colours
mean, what the canvas gets and what is in a file is computed of any of them.

A polygon that a reader draws in a picture says which points are inside.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dashboard.web.state import Within
from store import StoreError

Kind = Literal["category", "number"]
Values = NDArray[np.float64 | np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Column:
    """A property of every point: a number, or one of a few categories.

    Attributes
    ----------
    title, unit
        As shown to a reader. The unit `share` is shown in per cent.
    per_head, per_role
        Whether it differs between heads, and between query and key of a token.
    names
        Category of each code; empty where the code itself is the category's number.
    logarithmic
        Whether its colour scale is logarithmic.
    rest
        What the legend calls the points without a value.
    read
        The values of the points of a set: (panel, token, role), of length 1 where an axis makes no difference. Numbers are float64
        with NaN for none, categories int64 codes with -1 for none.
    """

    name: str
    title: str
    kind: Kind = "number"
    unit: str = ""
    per_head: bool = False
    per_role: bool = False
    names: tuple[str, ...] = ()
    logarithmic: bool = False
    rest: str = "points without a value"
    read: Callable[[Any], Values] = field(kw_only=True, repr=False, compare=False)

    def category(self, code: int) -> str:
        """Name of a category."""
        return self.names[code] if code < len(self.names) else f"{code}"

    def code(self, name: str) -> int | None:
        """Code of a category by its name; None for an unknown name."""
        if self.names:
            return self.names.index(name) if name in self.names else None
        return int(name) if name.isascii() and name.isdigit() and len(name) < 10 else None


class PointSet(Protocol):
    """The first tokens of a corpus or of a token set, as points in panels."""

    @property
    def tokens(self) -> int:
        """Tokens in every panel."""

    @property
    def roles(self) -> Sequence[str]:
        """What the points of a token are: its query and its key, or one of its own."""

    @property
    def columns(self) -> Mapping[str, Column]:
        """Every column by its name, in the order of the menu."""

    def places(self, view: str) -> NDArray[np.float32]:
        """Positions in a view, 0 to 1: (panel, token, role, component)."""

    def read(self, column: Column) -> Values:
        """The values of a column: (panel, token, role), of length 1 where an axis makes no difference."""

    def coloured_like(self, column: Column) -> "PointSet":
        """The points whose values decide which colours those of this set have."""

    def matching(self, q: str, within: Within) -> Mask:
        """Which tokens a search finds: (token,)."""

    def inside(self, region: Any) -> Mask:
        """Which points are inside a region that was drawn in a picture of them: (token, role)."""


@dataclass(frozen=True)
class Beside:
    """The same tokens in two sets, one beside the other: in two heads, or in two models. The colours are those of the first."""

    first: PointSet
    second: PointSet

    @property
    def tokens(self) -> int:
        """Tokens in every panel."""
        return self.first.tokens

    @property
    def roles(self) -> Sequence[str]:
        """Those of the first."""
        return self.first.roles

    @property
    def columns(self) -> Mapping[str, Column]:
        """Those of the first."""
        return self.first.columns

    def places(self, view: str) -> NDArray[np.float32]:
        """Positions in a view, 0 to 1: (panel, token, role, component)."""
        return np.concatenate([self.first.places(view), self.second.places(view)])

    def read(self, column: Column) -> Values:
        """The values of a column in each: (panel, token, role)."""
        return np.concatenate([values(column, points) for points in (self.first, self.second)])

    def coloured_like(self, _column: Column) -> PointSet:
        """The first."""
        return self.first

    def matching(self, q: str, within: Within) -> Mask:
        """Which tokens a search finds: (token,)."""
        return self.first.matching(q, within)

    def inside(self, region: Any) -> Mask:
        """Which points are inside a region that was drawn in a picture of the first: (token, role)."""
        return self.first.inside(region)


def values(column: Column, points: PointSet) -> Values:
    """The values of the points: (panel, token, role), read-only; one panel where all panels share them."""
    read = points.read(column)
    return np.broadcast_to(read, (len(read), points.tokens, len(points.roles)))


def column_named(known: Mapping[str, Column], name: str) -> Column:
    """A column by its name. Raises StoreError for an unknown one."""
    column = known.get(name)
    if column is None:
        raise StoreError(f"There is no column {name[:60]!r}. Choose one of {', '.join(known)}.")
    return column


#: Corners of a polygon, and how far outside the picture they may be, in thousandths of its side.
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
        """From `yaw,pitch,x1,y1,x2,y2,...`; None where it is invalid."""
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
        """Which positions (..., component), 0 to 1 in the view's cube, are inside: (...,)."""
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
        """From `view,layer,head,yaw,pitch,x1,y1,x2,y2,...`; None where it is invalid."""
        view, layer, head, *rest = [*text.split(",", 3), "", ""]
        outline = Outline.parse(rest[0]) if _is_whole(layer) and _is_whole(head) else None
        return cls(view, int(layer), int(head), outline) if outline else None

    def __str__(self) -> str:
        return f"{self.view},{self.layer},{self.head},{self.outline}"

    def holds(self, places: Floats) -> NDArray[np.bool_]:
        """Which positions (..., component), 0 to 1 in the view's cube, are inside: (...,)."""
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
    """Which points (..., 2) are inside a polygon (corner, 2), by the even-odd rule: (...,)."""
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
        # Where the edge is level nothing is between, so that the division by 1 is not used.
        odd ^= between & (x < x1 + (y - y1) * ((x2 - x1) / (y2 - y1 if y2 != y1 else 1)))
    return odd


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 8


def _near(corner: int) -> int:
    return max(-FARTHEST, min(corner, 1000 + FARTHEST))
