"""From vectors to places: each projection is fitted on a sample, and a stated rule places every other token.

`Pca`, `Neighbours` (t-SNE, UMAP, the AttentionViz look) and `AttentionProjection` fit heads, layer by layer, by unit
vectors of queries and keys together, each head for itself. `Method` fits any vectors, as feature points and values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from threading import Lock, local
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ingest.projections.fits import fit_head, fit_points, seed32, used_settings
from ingest.projections.normalizations import Constants, LayerVectors
from ingest.projections.table import PROJECTIONS
from ingest.run.parallel import fit_later, side_by_side, timed
from ingest.run.settings import Settings
from store.kernels.normalization import unit
from store.kernels.projection import NEIGHBOURS, fit_pca, place
from store.schema.pictures import ViewName

Floats = NDArray[np.floating]
#: Arrays of a layer by name, `store.schema.pictures.PARAMETERS` without their dim `layer`.
Parameters = Mapping[str, Floats]
#: Normalised queries and keys (head, token, channel) of the fitted tokens of a layer.
Read = Callable[[int], tuple[Floats, Floats]]
#: Reports that a part, 0 to 1, of a layer is done.
Advance = Callable[[float], object]


class LayerFit(NamedTuple):
    """The parameters of a layer, and the seconds that computing them took, of one core each."""

    layer: int
    parameters: Parameters
    seconds: float


#: Yields the fit of each layer as soon as it is done.
Fits = Callable[[Advance], Iterator[LayerFit]]

#: Of pictures of feature points and of values.
COMPONENTS = 2
#: So many points t-SNE fits with the exact gradient: of 1,000 in a sixth of the time that scikit-learn takes.
EXACT_POINTS = 2_000


class HeadProjection(Protocol):
    """From normalised vectors of the heads of a layer to places."""

    #: How a token that was not fitted gets its place, for a person.
    placed: str

    def begin(self, layers: list[int], read: Read) -> Fits:
        """Start the fits that run in processes; calling the result waits for them, layer by layer."""
        ...

    def place(self, layer: int, parameters: Parameters, vectors: LayerVectors, first: int) -> Floats:
        """Places (head, role, token, component) of the normalised vectors.

        `first` is the number of the first of these tokens among all tokens of the plan.
        """
        ...


class Pca:
    """Principal components of unit vectors: fits a layer in a second and places by a matrix product."""

    placed = "by the same formula: (unit vector - mean) . components"

    def __init__(self, name: ViewName) -> None:
        self.components = name.components

    def begin(self, layers: list[int], read: Read) -> Fits:
        """Start nothing: a layer takes a second."""
        return partial(self._fits, layers, read)

    def _fits(self, layers: list[int], read: Read, advance: Advance) -> Iterator[LayerFit]:
        for layer in layers:
            fits = side_by_side(partial(timed, self._fit), zip(*read(layer), strict=True))
            mean, axes, explained = zip(*(fit for fit, _ in fits), strict=True)
            advance(1)
            parameters = {"mean": np.stack(mean), "components": np.stack(axes), "explained": np.stack(explained)}
            yield LayerFit(layer, parameters, sum(seconds for _, seconds in fits))

    def _fit(self, head: tuple[Floats, Floats]) -> tuple[Floats, Floats, Floats]:
        points = np.concatenate([unit(vectors) for vectors in head]).astype(np.float64)
        return fit_pca(points, components=self.components)

    def place(self, layer: int, parameters: Parameters, vectors: LayerVectors, first: int) -> Floats:  # noqa: ARG002
        """Places (head, role, token, component); they are normalised on the way."""
        from ingest.projections.compiled_places import pca_places

        mean, axes = parameters["mean"], parameters["components"]
        heads, _, channels = vectors.query.shape
        constants = vectors.constants or Constants.unchanged(heads, channels)
        return pca_places(vectors.query, vectors.key, constants, mean, axes)


class Neighbours:
    """t-SNE and UMAP: heads are fitted in processes, as the libraries use one core a fit.

    The libraries have no formula for other tokens: these are placed among their nearest fitted points. Pictures of the
    same normalisation share the search for these.
    """

    placed = f"at the mean of its {NEIGHBOURS} nearest fitted points by cosine, weighted by 1 / distance squared"

    def __init__(self, name: ViewName, nearest: "Nearest", *, heads: int, seed: int) -> None:
        self.name, self.nearest, self.heads, self.seed = name, nearest, heads, seed32(seed)

    def begin(self, layers: list[int], read: Read) -> Fits:
        """Start a fit of every head."""
        fit = partial(fit_head, projection=self.name.projection, components=self.name.components, seed=self.seed)
        heads = [
            [fit_later(partial(timed, fit), partial(_points, read, layer, head)) for head in range(self.heads)]
            for layer in layers
        ]
        return partial(self._fits, dict(zip(layers, heads, strict=True)))

    def _fits(self, heads: Mapping[int, list[Future[tuple[Floats, float]]]], advance: Advance) -> Iterator[LayerFit]:
        for layer, futures in heads.items():
            places, seconds = [], 0.0
            for future in futures:
                fitted, spent = future.result()
                places.append(fitted.reshape(2, -1, self.name.components))
                seconds += spent
                advance(1 / len(futures))
            yield LayerFit(layer, {"fitted": np.stack(places)}, seconds)

    def place(self, layer: int, parameters: Parameters, vectors: LayerVectors, first: int) -> Floats:
        """Places (head, role, token, component); a fitted token keeps its own."""
        from ingest.projections.compiled_places import places_among

        fitted, (query, key) = parameters["fitted"], vectors.normalized
        index, square = self.nearest.of(layer, query, key, first)
        flat = fitted.reshape(len(fitted), -1, fitted.shape[-1])
        places = np.stack(
            [
                [places_among(*role, own) for role in zip(head, near, strict=True)]
                for head, near, own in zip(square, index, flat, strict=True)
            ]
        )
        known = max(0, min(first + query.shape[1], fitted.shape[2]) - first)
        places[:, :, :known] = fitted[:, :, first : first + known]
        return places


def _points(read: Read, layer: int, head: int) -> Floats:
    """Unit vectors (point, feature) of the fitted queries and keys of a head, the queries first."""
    return np.concatenate([unit(vectors[head]) for vectors in read(layer)]).astype(np.float32)


class Nearest:
    """The nearest fitted points of queries and keys. Each thread caches its last result: several pictures ask for the same."""

    def __init__(self, read: Read, *, device: str) -> None:
        self._read, self._device = read, torch.device(device)
        self._fitted: tuple[int, Tensor] | None = None
        self._reading, self._cached = Lock(), local()

    def of(self, layer: int, query: Floats, key: Floats, first: int) -> tuple[NDArray[np.int32], Floats]:
        """Nearest fitted points: their index, queries first, and squared distance: (head, role, token, neighbour) each.

        `first` is the number of the first token: with the layer and the number of tokens it identifies the vectors.
        """
        tokens = (layer, first, query.shape[1])
        if getattr(self._cached, "tokens", None) != tokens:
            self._cached.index, self._cached.square = self._search(layer, query, key)
            self._cached.tokens = tokens
        return self._cached.index, self._cached.square

    def _search(self, layer: int, query: Floats, key: Floats) -> tuple[NDArray[np.int32], Floats]:
        from ingest.projections.compiled_places import nearest_points

        heads = [
            [nearest_points(role, fitted) for role in roles]
            for fitted, *roles in zip(self._points(layer), query, key, strict=True)
        ]
        index, square = (np.array([[role[part] for role in roles] for roles in heads]) for part in range(2))
        return index, square

    def _points(self, layer: int) -> Tensor:
        """Unit vectors of the fitted points: (head, point, feature)."""
        with self._reading:
            if self._fitted is None or self._fitted[0] != layer:
                points = np.concatenate([unit(vectors) for vectors in self._read(layer)], axis=1)
                self._fitted = layer, torch.from_numpy(points.astype(np.float32)).to(self._device)
            return self._fitted[1]


@dataclass(frozen=True)
class Method:
    """A projection of feature points or values, with everything that its places depend on."""

    kind: str
    seed: int
    settings: Mapping[str, Any]

    @property
    def metric(self) -> str:
        """Metric of the distance whose neighbours the projection keeps."""
        return str(self.settings.get("metric", "euclidean"))

    @property
    def exact(self) -> bool:
        """Whether a formula places every token."""
        return PROJECTIONS[self.kind].exact

    def parameters(self, vectors: int) -> dict[str, Any]:
        """The settings that a fit of so many vectors uses, for a person."""
        return used_settings(self.settings, vectors) | {"seed": self.seed}

    def placed(self, *, of: str = "") -> str:
        """How a token that was not fitted gets its place, and among which fitted vectors, for a person."""
        if self.exact:
            return "by the same formula: (vector - mean) . components"
        return f"at the mean of its {NEIGHBOURS} nearest fitted vectors{of}, weighted by 1 / distance squared"

    def fit(self, vectors: Floats) -> Floats:
        """The fit that places other vectors: mean and axes, one below the other, or the places (vector, component)."""
        if self.exact:
            mean, axes, _ = fit_pca(vectors, components=COMPONENTS)
            return np.concatenate([mean[None], axes])
        fit = PROJECTIONS[self.kind].fit
        few = fit == "tsne" and len(vectors) <= EXACT_POINTS
        return fit_points(vectors, "exact_tsne" if few else fit, COMPONENTS, self.seed, self.settings)

    def begin(self, sets: Sequence[Callable[[], Floats]]) -> Callable[[], list[Floats]]:
        """Start a fit of each set, t-SNE and UMAP in processes; calling the result waits for them.

        A set is read by another thread when a process is nearly free, so that few of those that wait are in memory.
        """
        if self.exact:
            return lambda: side_by_side(lambda read: self.fit(read()), sets)
        futures = [fit_later(self.fit, read) for read in sets]
        return lambda: [future.result() for future in futures]

    def place(self, vectors: Floats, fit: Floats, fitted: Floats) -> Floats:
        """Places (token, component) of vectors (token, feature), by a fit on `fitted` (vector, feature)."""
        if self.exact:
            return np.asarray(place(vectors, fit[0], fit[1:]), np.float32)
        return near_fitted(vectors, fitted, fit, metric=self.metric)


def feature_method(settings: Settings, projection: str) -> Method:
    """The method of a projection of feature points or values with the settings of an ingest; PCA has neither settings nor a seed."""
    row = PROJECTIONS[projection]
    if row.exact:
        return Method(projection, 0, {})
    own = {"neighbors": settings.neighbors, "min_dist": settings.min_dist} if row.fit == "umap" else row.settings
    return Method(projection, seed32(settings.seed), {**own, "metric": settings.metric})


def near_fitted(vectors: Floats, fitted: Floats, places: Floats, *, metric: str) -> Floats:
    """Places (token, component) among the nearest of the fitted vectors (vector, feature) with their places."""
    from ingest.projections.compiled_places import SEARCHED, largest_of_rows, places_among

    known = _comparable(fitted, metric)
    half, count = (known * known).sum(axis=1) / 2, min(NEIGHBOURS, len(known))
    placed = []
    for start in range(0, len(vectors), SEARCHED):
        own = _comparable(vectors[start : start + SEARCHED], metric)
        largest, index = largest_of_rows(
            own @ known.T - half, count
        )  # half of the squared distance less, of the nearest
        square = np.clip((own * own).sum(axis=1, keepdims=True) - 2 * largest, 0, None)
        placed.append(places_among(square, index.astype(np.int32), np.ascontiguousarray(places, np.float32)))
    return np.concatenate(placed)


def _comparable(vectors: Floats, metric: str) -> NDArray[np.float32]:
    """Vectors whose Euclidean distance orders neighbours as the metric does."""
    return np.ascontiguousarray(unit(vectors) if metric == "cosine" else vectors, np.float32)
