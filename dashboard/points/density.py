"""How densely points lie in a 2D picture: a smoothed histogram on a grid, and the levels that enclose shares of the points."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

#: Cells along a side of the picture.
CELLS = 256
#: Of Scott's bandwidth, which is for one bell-shaped cloud: a picture has several.
BANDWIDTH = 0.6
#: Bounds of the bandwidth, in cells.
NARROWEST, WIDEST = 1.5, 6.0
Places = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Density:
    """The density of some points.

    Attributes
    ----------
    grid
        Smoothed number of points in every cell of the picture: (row, column), rows upwards.
    cell
        The flat number of the cell of each point: (point,).
    """

    grid: NDArray[np.float64]
    cell: NDArray[np.int64]

    @property
    def at_points(self) -> NDArray[np.float64]:
        """The density at each point: (point,)."""
        return self.grid.ravel()[self.cell]

    def level(self, share: float) -> float:
        """The level above which this share of the points lies: the smallest region with so many (Hyndman 1996)."""
        return float(np.quantile(self.at_points, 1 - share))


def density_of(places: Places) -> Density:
    """The density of points (point, component) at x and y, 0 to 1."""
    column, row = np.minimum((places * CELLS).astype(np.int64), CELLS - 1).clip(0).T
    cell = row * CELLS + column
    counts = np.bincount(cell, minlength=CELLS * CELLS).reshape(CELLS, CELLS).astype(np.float64)
    return Density(gaussian_filter(counts, bandwidth(places), mode="constant"), cell)


def bandwidth(places: Places) -> float:
    """Standard deviation of the smoothing in cells, by Scott's rule for two components, narrowed."""
    spread = float(np.sqrt(np.var(places, axis=0).mean())) * CELLS
    return float(np.clip(BANDWIDTH * spread * max(len(places), 1) ** (-1 / 6), NARROWEST, WIDEST))
