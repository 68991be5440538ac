"""Queries and keys of a head, normalised with the constants that the ingest has chosen for it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from store import Corpus
from store.kernels.normalization import normalized


def normalized_vectors(
    corpus: Corpus, normalization: str, query: NDArray[Any], key: NDArray[Any], *, layer: int, head: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """(token, channel [+ 1]) each, from (token, channel)."""
    constants = corpus.normalizations.sel(normalization=normalization).isel(layer=layer, head=head)
    scale, shift, radius = (constants[name].values for name in ("scale", "shift", "radius"))
    moved: tuple[NDArray[Any], NDArray[Any]] = normalized(
        query, key, scale=scale, shift=shift, radius=None if np.isnan(radius) else radius
    )
    return moved
