"""Density contours of the queries and of the keys of a head: the smallest regions of a 2D picture with shares of the points."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from contourpy import LineType, contour_generator
from numpy.typing import NDArray

from dashboard.points.density import CELLS, density_of
from dashboard.points.drawn import Drawn
from dashboard.web.results import cached
from store import Corpus

#: Shares of the points that the lines enclose.
SHARES = (0.25, 0.5, 0.75)
#: Decimals of a place: a thousandth of a cell.
DECIMALS = 5


@dataclass(frozen=True)
class Contour:
    """The outline of the smallest region with a share of a role's points: lines of places x, y, x, y, ... in 0..1."""

    role: int
    share: float
    lines: list[list[float]]


@cached
def contours_of_head(corpus: Corpus, view: str, tokens: int, layer: int, head: int) -> list[Contour]:
    """The contours of the drawn queries and keys of a head."""
    places = Drawn(corpus, tokens, layer, head).places(view)[0]
    return [contour for role in range(places.shape[1]) for contour in contours(places[:, role], role)]


def contours(places: NDArray[np.floating], role: int) -> list[Contour]:
    """A contour for each share, the largest region first."""
    density = density_of(places)
    # Around the grid lies an empty cell, so that a region at the border is closed.
    generator = contour_generator(z=np.pad(density.grid, 1), line_type=LineType.Separate)
    return [
        Contour(role, share, [_flat(line) for line in generator.lines(density.level(share))])
        for share in sorted(SHARES, reverse=True)
    ]


def _flat(line: Any) -> list[float]:
    """Places in 0..1 of a line (vertex, xy) in cells of the padded grid, whose centres are whole numbers."""
    flat: list[float] = np.round(((np.asarray(line, np.float64) - 0.5) / CELLS).ravel(), DECIMALS).tolist()
    return flat
