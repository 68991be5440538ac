"""Projections of vectors to places: a projection is fitted on some vectors, and a stated rule places every other one.

The table `PROJECTIONS` says what fits each projection, with which settings and on how many tokens. `Projection` fits any
vectors: those of a feature point, the values of a head, or the queries and keys of a head. A fit runs in a process, which
imports this file: it imports no more of the ingest than that takes. `HeadProjection` is a projection of every head of every
layer by the unit vectors of queries and keys together, each head for itself. Places are stored in a cube: low + coordinate /
65535 * side.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock, local
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ingest.projections.fits import fit_points, seed32, used_settings
from ingest.run.parallel import fit_later, side_by_side, timed
from ingest.run.settings import Settings
from store.kernels.projection import NEIGHBOURS, fit_pca, place, unit
from store.schema.pictures import LARGEST_COORDINATE, ViewName

if TYPE_CHECKING:
    from ingest.projections.normalizations import LayerVectors

Floats = NDArray[np.floating]
#: Arrays of a fit by name, which place other vectors; for a layer `store.schema.pictures.PARAMETERS` without the dim `layer`.
Parameters = Mapping[str, Floats]
#: Reads normalised queries and keys (head, token, channel) of the fitted tokens of a layer.
Read = Callable[[int], tuple[Floats, Floats]]
#: Reports that a part, 0 to 1, of a layer is done.
Advance = Callable[[float], object]

#: Number of components of pictures of feature points and of values.
COMPONENTS = 2
#: Most points that t-SNE fits with the exact gradient: 1,000 points take a sixth of the time of scikit-learn.
EXACT_POINTS = 2_000


@dataclass(frozen=True)
class Row:
    """One row of the table `PROJECTIONS`.

    Attributes
    ----------
    fit
        The method that fits it: `pca`, `tsne`, `umap`, or `attention`, a network trained on attention.
    version
        Version of pictures of heads: changes whenever the code changes their places.
    settings
        Settings of the method. Pictures of feature points take METRIC, NEIGHBORS and MIN_DIST in their stead.
    head_settings
        The settings of pictures of heads that differ: fits of fewer steps, as faithful on held-out sentences.
    head_tokens
        Tokens that a picture of heads is fitted on; None is the whole sample.
    point_version
        Version of pictures of feature points and of values; empty for the first version.
    joint_vectors, point_vectors, value_tokens
        Number of vectors in a fit of all feature points together, of one point, and of the values of a head.
    """

    fit: str
    version: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    head_settings: Mapping[str, Any] = field(default_factory=dict)
    head_tokens: int | None = None
    point_version: str = ""
    joint_vectors: int = 0
    point_vectors: int = 0
    value_tokens: int = 0

    @property
    def exact(self) -> bool:
        """Whether a formula places every token, fitted or not."""
        return self.fit not in ("tsne", "umap")


#: Tokens of a head that t-SNE and UMAP fit: they take more time than all else, and other tokens are placed among these.
#: With more fitted tokens distance follows attention less closely, and neighbours are kept equally well.
_HEAD_TOKENS = 300
#: `attentionviz` has the settings of AttentionViz's published data: 300 steps, of which 250 exaggerate.
PROJECTIONS: dict[str, Row] = {
    "attention": Row("attention", "attention/5"),
    "pca": Row("pca", "pca/2", joint_vectors=40_000, point_vectors=20_000, value_tokens=20_000),
    "umap": Row(
        "umap",
        "neighbours/2",
        {"neighbors": 15, "min_dist": 0.1},
        {"epochs": 100},
        _HEAD_TOKENS,
        point_version="umap/2",
        joint_vectors=14_000,
        point_vectors=2_000,
        value_tokens=1_000,
    ),
    "tsne": Row(
        "tsne",
        "neighbours/4",
        {"perplexity": 30, "steps": 500},
        {"steps": 420},
        _HEAD_TOKENS,
        point_version="tsne/3",
        joint_vectors=5_000,
        point_vectors=1_000,
    ),
    "attentionviz": Row(
        "tsne",
        "neighbours/3",
        {"perplexity": 50, "steps": 300, "metric": "cosine"},
        head_tokens=500,
    ),
}


class Fitted(NamedTuple):
    """Parameters of a fit, which place other vectors, and the core seconds that the fit took."""

    parameters: Parameters
    seconds: float


def principal_components(points: Floats, components: int) -> Parameters:
    """Principal components of points (point, feature)."""
    mean, axes, explained = fit_pca(points, components=components)
    return {"mean": mean, "components": axes, "explained": explained}


#: Fits whose formula, (vector - mean) . components, places every vector; all others place among the nearest fitted vectors.
FORMULAS: Mapping[str, Callable[[Floats, int], Parameters]] = {
    "pca": principal_components,
}


@dataclass(frozen=True)
class Projection:
    """A projection with everything that the places of its fits depend on: its name in `PROJECTIONS`, a seed and settings."""

    kind: str
    seed: int
    settings: Mapping[str, Any]
    components: int = COMPONENTS

    @classmethod
    def of_points(cls, settings: Settings, kind: str) -> Self:
        """Projection of feature points or values, with the settings of an ingest; PCA has neither settings nor a seed."""
        row = PROJECTIONS[kind]
        if row.exact:
            return cls(kind, 0, {})
        own = {"neighbors": settings.neighbors, "min_dist": settings.min_dist} if row.fit == "umap" else row.settings
        return cls(kind, seed32(settings.seed), {**own, "metric": settings.metric})

    @classmethod
    def of_heads(cls, kind: str, *, components: int, seed: int) -> Self:
        """Projection of queries and keys."""
        row = PROJECTIONS[kind]
        return cls(kind, seed32(seed), {**row.settings, **row.head_settings}, components)

    @property
    def metric(self) -> str:
        """Metric of the distance whose neighbours the projection keeps."""
        return str(self.settings.get("metric", "euclidean"))

    @property
    def exact(self) -> bool:
        """Whether a formula places every vector."""
        return PROJECTIONS[self.kind].exact

    def parameters(self, vectors: int) -> dict[str, Any]:
        """The settings that a fit of `vectors` vectors uses, for a person."""
        return used_settings(self.settings, vectors) | {"seed": self.seed}

    def placed(self, *, vector: str = "vector", nearest: str = "vectors") -> str:
        """Rule by which a vector that was not fitted gets its place, among the fitted vectors `nearest`, for a person."""
        if self.exact:
            return f"by the same formula: ({vector} - mean) . components"
        return f"at the mean of its {NEIGHBOURS} nearest fitted {nearest}, weighted by 1 / distance squared"

    def fit(self, vectors: Floats) -> Parameters:
        """Parameters of a fit of vectors (vector, feature): a formula, or the places `fitted` (vector, component)."""
        fit = PROJECTIONS[self.kind].fit
        if fit in FORMULAS:
            return FORMULAS[fit](vectors, self.components)
        few = fit == "tsne" and len(vectors) <= EXACT_POINTS
        return {"fitted": fit_points(vectors, "exact_tsne" if few else fit, self.components, self.seed, self.settings)}

    def begin(self, sets: Sequence[Callable[[], Floats]]) -> Callable[[], Iterator[Fitted]]:
        """Start a fit of each set, t-SNE and UMAP in processes, as they use one core; calling the result waits for them in order.

        A set is read by another thread when a process is nearly free, so that few of those that wait are in memory.
        """
        fit = partial(timed, self.fit)
        if self.exact:
            return lambda: (Fitted(*fitted) for fitted in side_by_side(lambda read: fit(read()), sets))
        futures = [fit_later(fit, read) for read in sets]
        return lambda: (Fitted(*future.result()) for future in futures)

    def place(self, vectors: Floats, fit: Parameters, fitted: Floats) -> Floats:
        """Places (token, component) of vectors (token, feature), by a fit on `fitted` (vector, feature)."""
        if self.exact:
            return np.asarray(place(vectors, fit["mean"], fit["components"]), np.float32)
        return near_fitted(vectors, fitted, fit["fitted"], metric=self.metric)

    def place_own(self, vectors: Floats, fit: Parameters) -> Floats:
        """Places (token, component) of vectors, the first of which were fitted: these keep their places."""
        if self.exact:
            return self.place(vectors, fit, vectors)
        own = fit["fitted"]
        places = self.place(vectors, fit, vectors[: len(own)])
        places[: len(own)] = own
        return places


def near_fitted(vectors: Floats, fitted: Floats, places: Floats, *, metric: str) -> Floats:
    """Places (token, component) among the nearest of the fitted vectors (vector, feature) with their places."""
    from ingest.projections.compiled_places import SEARCHED, largest_of_rows, places_among

    known = _comparable(fitted, metric)
    half, count = (known * known).sum(axis=1) / 2, min(NEIGHBOURS, len(known))
    placed = []
    for start in range(0, len(vectors), SEARCHED):
        own = _comparable(vectors[start : start + SEARCHED], metric)
        # The nearest rows have the largest dot product less half of their squared norm.
        largest, index = largest_of_rows(own @ known.T - half, count)
        square = np.clip((own * own).sum(axis=1, keepdims=True) - 2 * largest, 0, None)
        placed.append(places_among(square, index.astype(np.int32), np.ascontiguousarray(places, np.float32)))
    return np.concatenate(placed)


def _comparable(vectors: Floats, metric: str) -> NDArray[np.float32]:
    """Vectors whose Euclidean distance orders neighbours as the metric does."""
    return np.ascontiguousarray(unit(vectors) if metric == "cosine" else vectors, np.float32)


class LayerFit(NamedTuple):
    """A layer, the parameters of its fit, and the core seconds that the fit took."""

    layer: int
    parameters: Parameters
    seconds: float


#: Yields the fit of each layer as soon as it is done.
Fits = Callable[[Advance], Iterator[LayerFit]]


class HeadProjection:
    """Projection of the normalised queries and keys of layers to places, by one fit of each head.

    Pictures of the same normalisation share the search for the nearest fitted points.
    """

    def __init__(self, name: ViewName, nearest: "Nearest", *, heads: int, seed: int) -> None:
        self.projection = Projection.of_heads(name.projection, components=name.components, seed=seed)
        self.nearest, self.heads = nearest, heads

    @property
    def placed(self) -> str:
        """Rule by which a token that was not fitted gets its place, for a person."""
        return self.projection.placed(vector="unit vector", nearest="points by cosine")

    def begin(self, layers: list[int], read: Read) -> Fits:
        """Start the fits of every head that run in processes; calling the result waits for them, layer by layer."""
        points = np.float64 if self.projection.exact else np.float32
        begun = [
            self.projection.begin([partial(_points, read, layer, head, points) for head in range(self.heads)])
            for layer in layers
        ]
        return partial(self._fits, dict(zip(layers, begun, strict=True)))

    def _fits(self, begun: Mapping[int, Callable[[], Iterator[Fitted]]], advance: Advance) -> Iterator[LayerFit]:
        for layer, fits in begun.items():
            heads = []
            for fitted in fits():
                heads.append(fitted)
                advance(1 / self.heads)
            yield LayerFit(layer, _of_layer(heads), sum(fitted.seconds for fitted in heads))

    def place(self, layer: int, parameters: Parameters, vectors: "LayerVectors", first: int) -> Floats:
        """Places (head, role, token, component) of the normalised vectors; a fitted token keeps its own.

        `first` is the number of the first of these tokens among all tokens of the plan.
        """
        if self.projection.exact:
            return _on_components(parameters, vectors)
        return self._among_nearest(layer, parameters["fitted"], vectors, first)

    def _among_nearest(self, layer: int, fitted: Floats, vectors: "LayerVectors", first: int) -> Floats:
        """Places of tokens among the places `fitted` (head, role, token, component) of the nearest fitted points."""
        from ingest.projections.compiled_places import places_among

        query, key = vectors.normalized
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


def _points(read: Read, layer: int, head: int, kind: type[np.floating]) -> Floats:
    """Unit vectors (point, feature) of the fitted queries and keys of a head, the queries first."""
    return np.concatenate([unit(vectors[head]) for vectors in read(layer)]).astype(kind)


def _of_layer(heads: Sequence[Fitted]) -> Parameters:
    """The parameters of all heads (head, ...); fitted places by role: (head, role, token, component)."""
    stacked = {name: np.stack([head.parameters[name] for head in heads]) for name in heads[0].parameters}
    if "fitted" in stacked:
        places = stacked["fitted"]
        stacked["fitted"] = places.reshape(len(places), 2, -1, places.shape[-1])
    return stacked


def _on_components(parameters: Parameters, vectors: "LayerVectors") -> Floats:
    """Places by the formula of principal components; the vectors are normalised on the way."""
    from ingest.projections.compiled_places import pca_places
    from ingest.projections.normalizations import Constants

    heads, _, channels = vectors.query.shape
    constants = vectors.constants or Constants.unchanged(heads, channels)
    return pca_places(vectors.query, vectors.key, constants, parameters["mean"], parameters["components"])


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
class PlaceGrid:
    """The cubes of some panels: lowest place (panel..., component) and side (panel...)."""

    low: NDArray[np.float64]
    side: NDArray[np.float64]

    @classmethod
    def around(cls, places: Floats, *, panels: int, margin: float = 1.0) -> "PlaceGrid":
        """PlaceGrid around places (..., component), `margin` times as wide as the places reach.

        Each index of the first `panels` dims has a cube of its own; with 0 panels there is one for all.
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
        """Values with as many dims as the places, the panels first and the component last."""
        between = (1,) * (places.ndim - values.ndim)
        return values.reshape(*values.shape[:-1], *between, values.shape[-1])
