"""Placing new tokens in a picture of the corpus, by the method that placed the corpus' own tokens."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from store import Corpus
from store.kernels.projection import NEIGHBOURS, normalized, place, place_by_neighbours, place_by_network, unit
from store.schema.model import ROLES
from store.schema.pictures import PARAMETERS, RAW, ViewName

Floats = NDArray[np.floating]


def normalized_vectors(
    corpus: Corpus, normalization: str, query: NDArray[Any], key: NDArray[Any], *, layer: int, head: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Queries and keys of a head with the stored constants: (token, channel [+ 1]) each, from (token, channel)."""
    if normalization == RAW:
        return query, key
    constants = corpus.normalizations.sel(normalization=normalization).isel(layer=layer, head=head)
    scale, shift, radius = (constants[name].values for name in ("scale", "shift", "radius"))
    moved: tuple[NDArray[Any], NDArray[Any]] = normalized(
        query, key, scale=scale, shift=shift, radius=None if np.isnan(radius) else radius
    )
    return moved


def place_vectors(
    corpus: Corpus, view: str, query: Floats, key: Floats, *, layer: int, head: int
) -> NDArray[np.float32]:
    """Positions (token, role, component) of a head's vectors (token, channel) in the view's cube, 0 to 1 on every axis.

    What lies outside the cube is moved to its border.
    """
    opened = corpus.view(view).isel(layer=layer, head=head)  # first: an unknown view is named in the error
    name = ViewName.parse(view)
    vectors = normalized_vectors(corpus, name.normalization, query, key, layer=layer, head=head)
    by_projection = {"pca": _by_pca, "attention": _by_network}
    if name.projection in by_projection:
        places = by_projection[name.projection](opened, *vectors)
    else:
        places = _by_neighbours(opened, vectors, _fitted_points(corpus, name.normalization, opened, layer, head))
    within = (places - opened.low.values) / float(opened.side)
    return np.clip(np.moveaxis(within, 0, 1), 0, 1).astype(np.float32)


def _by_pca(opened: xr.Dataset, query: Floats, key: Floats) -> Floats:
    mean, axes = opened["mean"].values, opened["components"].values
    return np.stack([place(unit(vectors), mean, axes) for vectors in (query, key)])


def _by_network(opened: xr.Dataset, query: Floats, key: Floats) -> Floats:
    # A store of an earlier version has no middle layer.
    weights: dict[str, Any] = {name: opened[name].values for name in PARAMETERS["attention"] if name in opened}
    own = [{name: array[role] for name, array in weights.items()} for role in range(len(ROLES))]
    return np.stack(
        [place_by_network(vectors, **parameters) for vectors, parameters in zip((query, key), own, strict=True)]
    )


def _by_neighbours(opened: xr.Dataset, vectors: tuple[Floats, Floats], fitted: Floats) -> Floats:
    """The mean position of the nearest fitted points, by cosine."""
    cosine = unit(np.stack(vectors)) @ fitted.T
    nearest = np.argsort(-cosine, axis=-1)[..., :NEIGHBOURS]
    square = np.clip(2 - 2 * np.take_along_axis(cosine, nearest, -1), 0, None)
    places = opened["fitted"].values.reshape(len(fitted), -1)
    placed: Floats = place_by_neighbours(square, places[nearest])
    return placed


def _fitted_points(corpus: Corpus, normalization: str, opened: xr.Dataset, layer: int, head: int) -> Floats:
    """Unit vectors of the fitted queries, then of the fitted keys: (point, feature)."""
    rows = corpus.rows[: opened.sizes["sample"]]
    query, key = (
        array.variable[layer, head, : int(rows[-1]) + 1].values[rows].astype(np.float32)
        for array in (corpus.query, corpus.key)
    )
    return np.concatenate(
        [unit(vectors) for vectors in normalized_vectors(corpus, normalization, query, key, layer=layer, head=head)]
    )
