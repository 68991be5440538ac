"""Places of a picture as whole numbers in a cube."""

import numpy as np
from numpy.typing import NDArray

from store.schema.pictures import LARGEST_COORDINATE

Floats = NDArray[np.floating]


def in_cubes(places: Floats, *, panels: int) -> tuple[NDArray[np.uint16], NDArray[np.float64], NDArray[np.float64]]:
    """Coordinates of the same shape (..., component), the cubes' lowest places (..., component) and their sides (...).

    What the first `panels` dims number has a cube each; with none there is one for all.
    """
    within = tuple(range(panels, places.ndim - 1))
    low, high = (edge(axis=within, keepdims=True).astype(np.float64) for edge in (places.min, places.max))
    side = np.maximum((high - low).max(axis=-1, keepdims=True), 1e-9)
    low = (low + high) / 2 - side / 2
    coordinates = np.rint(np.clip((places - low) / side, 0, 1) * LARGEST_COORDINATE).astype(np.uint16)
    return coordinates, low.squeeze(within), side.squeeze((*within, -1))
