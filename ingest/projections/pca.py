"""Projection `pca`: principal components of unit vectors, queries and keys of a head together."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ingest.projections.fits import Advance, Parameters, Read
from store.kernels.normalization import unit
from store.kernels.projection import fit_pca, place
from store.schema.pictures import ViewName

Floats = NDArray[np.floating]


class Pca:
    """Fits a layer in a second and places by a product with a matrix."""

    version = "pca/2"
    fit_tokens: int | None = None
    placed = "by the same formula: (unit vector - mean) . components"

    def __init__(self, name: ViewName) -> None:
        self.components = name.components

    def fits(self, layers: list[int], read: Read, advance: Advance) -> Iterator[tuple[int, Parameters]]:
        """The parameters of every layer."""
        for layer in layers:
            points = np.concatenate([unit(vectors.astype(np.float64)) for vectors in read(layer)], axis=1)
            mean, axes, explained = zip(*(fit_pca(head, components=self.components) for head in points), strict=True)
            advance(1)
            yield layer, {"mean": np.stack(mean), "components": np.stack(axes), "explained": np.stack(explained)}

    def place(self, layer: int, parameters: Parameters, query: Floats, key: Floats, first: int) -> Floats:  # noqa: ARG002
        """Places (head, role, token, component)."""
        mean, axes = (parameters[name].astype(np.float32) for name in ("mean", "components"))
        return np.stack([place(unit(vectors), mean, axes) for vectors in (query, key)], axis=1)
