"""Places as whole numbers in a cube, as every picture stores them: low + coordinate / 65535 * side."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from store.schema.pictures import LARGEST_COORDINATE

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Cubes:
    """The cubes of some panels: lowest place (panel..., component) and side (panel...)."""

    low: NDArray[np.float64]
    side: NDArray[np.float64]

    @classmethod
    def around(cls, places: Floats, *, panels: int, margin: float = 1.0) -> "Cubes":
        """Cubes around places (..., component), `margin` times as wide as the places reach.

        Each index of the first `panels` dims has a cube of its own; with none there is one for all.
        """
        within = tuple(range(panels, places.ndim - 1))
        low, high = (edge(axis=within).astype(np.float64) for edge in (places.min, places.max))
        side = np.maximum((high - low).max(axis=-1) * margin, 1e-9)
        return cls((low + high) / 2 - side[..., None] / 2, side)

    def encode(self, places: Floats) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
        """Coordinates of places (panel..., ..., component), and how many points of each panel are outside its cube.

        Points outside are drawn on the border.
        """
        coordinates, outside = np.empty(places.shape, np.uint16), np.zeros(self.side.shape, np.int64)
        for panel in np.ndindex(self.side.shape):  # one after the other: the places of one stay in the cache of a core
            within = (places[panel] - self.low[panel]) / self.side[panel]
            clipped = np.clip(within, 0, 1)
            outside[panel] = (clipped != within).any(axis=-1).sum()
            coordinates[panel] = np.rint(clipped * LARGEST_COORDINATE)
        return coordinates, outside

    def decode(self, coordinates: NDArray[np.uint16]) -> Floats:
        """Places (panel..., ..., component) of coordinates."""
        low, side = self._spread(self.low, coordinates), self._spread(self.side[..., None], coordinates)
        return low + coordinates / LARGEST_COORDINATE * side

    def _spread(self, values: Floats, places: NDArray[np.generic]) -> Floats:
        """With as many dims as the places, the panels first and the component last."""
        between = (1,) * (places.ndim - values.ndim)
        return values.reshape(*values.shape[:-1], *between, values.shape[-1])
