"""A set of points: the same tokens in one panel or in several, and the columns by which they are coloured, sized and filtered.

Queries and keys of heads, tokens at feature points, and either in two models are three of them. What a reader selects, what colours
mean, what the canvas gets and what is in a file is computed of any of them.
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
