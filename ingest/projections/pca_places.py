"""Places on principal components, straight from stored vectors: normalised, scaled to norm 1 and projected in one pass.

A pass for each of these steps takes ten times as long, as the vectors of a layer do not fit into the cache of a core.
Imports numba: import it where it is used.
"""

import numpy as np
from numpy.typing import NDArray

from ingest.projections.normalizations import Constants
from ingest.run.compiled import njit

Floats = NDArray[np.floating]
Singles = NDArray[np.float32]


def pca_places(query: Singles, key: Singles, constants: Constants | None, mean: Floats, axes: Floats) -> Singles:
    """Places (head, role, token, component) of queries and keys (head, token, channel) by a normalisation and a fit.

    Those without constants are taken as they are.
    """
    heads, tokens, channels = query.shape
    if constants is None:
        constants = Constants(np.ones(heads), np.zeros((heads, channels)))
    radius = constants.radius if constants.radius is not None else np.full(heads, np.nan)
    scale, shift = constants.scale.astype(np.float32), constants.shift.astype(np.float32)
    single_axes = axes.astype(np.float32)
    centre = np.matmul(single_axes, mean.astype(np.float32)[..., None])[..., 0]
    places = np.empty((heads, 2, tokens, axes.shape[1]), np.float32)
    still = np.zeros(channels, np.float32)
    for head, (of_queries, of_keys) in enumerate(places):
        fit = single_axes[head], centre[head]
        # A query has no height over the plane of exact mode, a key that of a sphere with the radius.
        _place(query[head], scale[head], still, np.nan, *fit, of_queries)
        _place(key[head], 1 / scale[head], shift[head], radius[head], *fit, of_keys)
    return places


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _place(
    vectors: Singles, factor: np.float32, shift: Singles, radius: float, axes: Singles, centre: Singles, places: Singles
) -> None:
    """Places (token, component) of vectors (token, channel): times a factor, shifted, in exact mode where there is a radius."""
    channels, features = vectors.shape[1], axes.shape[1]
    moved = np.zeros(features, np.float32)
    for token in range(len(vectors)):
        square = np.float32(0)
        for channel in range(channels):
            moved[channel] = vectors[token, channel] * factor + shift[channel]
        if radius > 0:
            moved[channels] = _height(moved[:channels], radius)
        for feature in range(features):
            square += moved[feature] * moved[feature]
        norm = np.sqrt(square) if square > 0 else np.float32(1)
        for component in range(len(axes)):
            product = np.float32(0)
            for feature in range(features):
                product += moved[feature] * axes[component, feature]
            places[token, component] = product / norm - centre[component]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _height(vector: Singles, radius: float) -> np.float32:
    """What is missing to a norm, in float64: the longest keys would lose the difference of two squares."""
    square = 0.0
    for value in vector:
        square += np.float64(value) * np.float64(value)
    return np.float32(np.sqrt(max(0.0, radius * radius - square)))
