"""Pictures of the tokens of a token set: at every feature point, and of the values of every head.

A picture is computed, and written whole in one transaction: no commit holds half a picture. Pictures that the attributes of
the token set name are whole; a hash tells what each was computed from. A reader may try UMAP of feature points: the picture that an ingest
with these settings makes of the first tokens is fitted in the reader's process, which tells how far it is; nothing is written.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.encode.feature_points import FeaturePoints, read_point
from ingest.encode.sample import evenly
from ingest.projections.fits import fit_points
from ingest.projections.projection import COMPONENTS, PROJECTIONS, Fitted, Floats, Parameters, PlaceGrid, Projection
from ingest.run.parallel import one_thread_each, side_by_side, timed
from ingest.run.settings import USUAL, Limits, Settings
from ingest.text.blocks import content_hash
from store.kernels.projection import TRUSTED_NEIGHBOURS, align, trustworthy
from store.repository.arrays import array_of, create_arrays
from store.schema import TILE, Array
from store.schema.features import FEATURE_VIEW_ARRAYS, VALUE_VIEW_ARRAYS, point_title
from store.schema.pictures import EACH, JOINT, ViewName
from store.schema.pictures import PROJECTIONS as TITLES

#: Tokens on which the trustworthiness of a point, and of the values of a head, is computed: it takes their square.
TRUSTED_TOKENS, TRUSTED_VALUES = 1_000, 500

VERSION = "feature views/1"
#: Reads vectors (token, feature), from the number of a point and the number of tokens, from the first on.
Read = Callable[[int, int], NDArray[np.float32]]
KIND = "umap"
#: Share of the time that has passed when the modules are imported, when the epochs of UMAP begin (until then its functions
#: are compiled), when they end, and when all tokens are placed.
IMPORTED, LOADED, FITTED, PLACED = 0.1, 0.84, 0.93, 0.96

#: Takes the share that is done, 0 to 1, and what is done now.
Tell = Callable[[float, str], object]


class Picture(ABC):
    """A picture in the group `group` of a token set; the token set's attribute of the same name lists whole pictures."""

    group: ClassVar[str]
    arrays: ClassVar[Mapping[str, Array]]
    #: Number of leading dims of the places (panels); each index of these has a cube.
    panels: ClassVar[int]

    def __init__(self, projection: Projection, limits: Limits) -> None:
        self.projection, self.limits = projection, limits

    @property
    @abstractmethod
    def key(self) -> str:
        """Name of the picture in the store."""

    @property
    @abstractmethod
    def fitted_vectors(self) -> int:
        """Number of vectors in one fit."""

    @property
    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Title, what it is fitted and judged on, and the rule for other tokens."""

    @abstractmethod
    def begin(self) -> None:
        """Start the fits that `places` waits for."""

    @abstractmethod
    def places(self) -> Floats:
        """Places of all tokens (panel..., token, component)."""

    @abstractmethod
    def trustworthiness(self, places: Floats) -> NDArray[np.float64]:
        """Trustworthiness of every panel, NaN where there is none."""

    def judged_on(self, tokens: int) -> str:
        """The tokens that trustworthiness is computed on, in words."""
        return f"{TRUSTED_NEIGHBOURS} neighbours by {self.projection.metric} distance among {tokens:,} tokens"


class FeaturePicture(Picture):
    """Every token at every point, in one cube, from the vectors that `read` gives of `tokens` tokens at `points`."""

    group = "views"
    arrays = FEATURE_VIEW_ARRAYS
    panels = 0

    def __init__(
        self,
        name: ViewName,
        projection: Projection,
        points: Sequence[str],
        tokens: int,
        read: Read,
        limits: Limits = USUAL,
    ) -> None:
        super().__init__(projection, limits)
        self.name, self.points, self.tokens, self.read = name, points, tokens, read

    @property
    def key(self) -> str:
        """Name of the picture in the store."""
        return str(self.name)

    @property
    def facts(self) -> dict[str, Any]:
        """Title, what it is fitted and judged on, and the rule for other tokens."""
        every = self.fitted_tokens == self.tokens
        tokens = f"{'all' if every else 'the first'} {self.fitted_tokens:,} tokens"
        known = {JOINT: "at all places together", EACH: "at each place by itself"}
        where = known.get(self.name.vectors) or f"at the place {point_title(self.name.vectors)}"
        nearest = "vectors of the same point" if self.name.vectors == JOINT else "vectors"
        aligned = "; then turned and scaled onto the point before" if self.name.vectors == EACH else ""
        return {
            "title": self.name.title,
            "fitted_on": f"{tokens} {where}",
            "placed": self.projection.placed(nearest=nearest) + aligned,
            "judged_on": self.judged_on(min(self.tokens, TRUSTED_TOKENS)),
        }

    @property
    def fitted_tokens(self) -> int:
        """Number of tokens in the fit, from the first on."""
        row = PROJECTIONS[self.projection.kind]
        most = row.joint_vectors // len(self.points) if self.name.vectors == JOINT else row.point_vectors
        return min(self.tokens, max(most, self.limits.few_tokens))

    @property
    def fitted_vectors(self) -> int:
        """Number of vectors in one fit: the tokens at one point, or at all points."""
        return self.fitted_tokens * (len(self.points) if self.name.vectors == JOINT else 1)

    @cached_property
    def _begun(self) -> Callable[[], Iterator[Fitted]]:
        """The begun fits: one of all points together, one of each point, or one of the point in the name."""
        sets = [partial(self._fitted, point) for point in self._fitted_points()]
        return self.projection.begin(
            [lambda: np.concatenate([read() for read in sets])] if self.name.vectors == JOINT else sets
        )

    def _fitted(self, point: int) -> Floats:
        return self.read(point, self.fitted_tokens)

    def begin(self) -> None:
        """Start the fits."""
        _ = self._begun

    def places(self) -> Floats:
        """Places of all tokens at all points: (point, token, component)."""
        fits = [fitted.parameters for fitted in self._begun()]
        placed = side_by_side(lambda point: self._place(point, fits), range(len(self.points)))
        if self.name.vectors == EACH:
            placed = list(accumulate(placed, lambda before, own: align(own, before)))
        return np.stack(placed).astype(np.float32)

    def _fitted_points(self) -> list[int]:
        every = list(range(len(self.points)))
        return every if self.name.point is None else [self.points.index(self.name.point)]

    def _place(self, point: int, fits: list[Parameters]) -> Floats:
        """Places (token, component) at a point; a token that was fitted there keeps its place."""
        vectors, fit = self.read(point, self.tokens), fits[point if self.name.vectors == EACH else 0]
        if self.name.vectors == JOINT and not self.projection.exact:
            fit = {"fitted": fit["fitted"][point * self.fitted_tokens :][: self.fitted_tokens]}
        (source,) = self._fitted_points() if self.name.point else (point,)
        if self.projection.exact or source == point:
            return self.projection.place_own(vectors, fit)
        return self.projection.place(vectors, fit, self._fitted(source))

    def trustworthiness(self, places: Floats) -> NDArray[np.float64]:
        """Trustworthiness of every point: (point,)."""
        chosen = evenly(self.tokens, TRUSTED_TOKENS)

        def judge(point: int) -> float:
            vectors = self.read(point, self.tokens)[chosen]
            return trustworthy(vectors, places[point, chosen], metric=self.projection.metric)

        return np.array(side_by_side(judge, range(len(self.points))))


class ValuePicture(Picture):
    """Values of each head by itself, from an array (layer, head, token, channel). PCA shows all layers, other methods the last one."""

    group = "value_views"
    arrays = VALUE_VIEW_ARRAYS
    panels = 2

    def __init__(self, projection: Projection, value: zarr.Array[Any], limits: Limits = USUAL) -> None:
        super().__init__(projection, limits)
        self.value = value

    @property
    def key(self) -> str:
        """Name of the picture in the store."""
        return self.projection.kind

    @property
    def layers(self) -> list[int]:
        """The layers that the picture shows."""
        every = list(range(self.value.shape[0]))
        return every if self.projection.exact else every[-1:]

    @property
    def fitted_vectors(self) -> int:
        """Number of vectors in one fit: the first tokens of one head."""
        return min(self.value.shape[2], max(PROJECTIONS[self.projection.kind].value_tokens, self.limits.few_tokens))

    @property
    def facts(self) -> dict[str, Any]:
        """Title, layers, what it is fitted and judged on, and the rule for other tokens."""
        return {
            "title": f"{TITLES[self.projection.kind]} of the values of each head",
            "layers": self.layers,
            "fitted_on": f"the values of the first {self.fitted_vectors:,} tokens, each head for itself",
            "placed": self.projection.placed(),
            "judged_on": self.judged_on(min(self.value.shape[2], TRUSTED_VALUES)),
        }

    @cached_property
    def _begun(self) -> list[Callable[[], Iterator[Fitted]]]:
        """The fits of each layer's heads."""
        heads = range(self.value.shape[1])
        return [self.projection.begin([partial(self._fitted, layer, head) for head in heads]) for layer in self.layers]

    def _fitted(self, layer: int, head: int) -> Floats:
        return np.asarray(self.value[layer, head, : self.fitted_vectors]).astype(np.float32)

    def begin(self) -> None:
        """Start the fits."""
        _ = self._begun

    def places(self) -> Floats:
        """Places (layer, head, token, component), 0 in layers that it does not show."""
        places = np.zeros((*self.value.shape[:3], COMPONENTS), np.float32)
        for layer, fits in zip(self.layers, self._begun, strict=True):
            with one_thread_each(None):
                for head, (vectors, fitted) in enumerate(zip(self._read(layer), fits(), strict=True)):
                    places[layer, head] = self.projection.place_own(vectors, fitted.parameters)
        return places

    def _read(self, layer: int) -> NDArray[np.float32]:
        return np.asarray(self.value[layer]).astype(np.float32)

    def trustworthiness(self, places: Floats) -> NDArray[np.float64]:
        """Trustworthiness of every head: (layer, head), NaN in layers that it does not show."""
        trust = np.full(self.value.shape[:2], np.nan)
        chosen = evenly(self.value.shape[2], TRUSTED_VALUES)
        for layer in self.layers:
            panels = list(zip(self._read(layer)[:, chosen], places[layer][:, chosen], strict=True))
            trust[layer] = side_by_side(lambda panel: trustworthy(*panel, metric=self.projection.metric), panels)
        return trust


@dataclass(frozen=True)
class ToldProjection(Projection):
    """UMAP in this process, which tells its progress."""

    tell: Tell = field(compare=False, kw_only=True)

    def fit(self, vectors: Floats) -> Parameters:
        """The places `fitted` (vector, component)."""

        def epochs(share: float) -> None:
            self.tell(LOADED + share * (FITTED - LOADED), "Fitting UMAP")

        fit = PROJECTIONS[self.kind].fit
        fitted = fit_points(vectors, fit, self.components, self.seed, self.settings, tell=epochs)
        self.tell(FITTED, "Placing the tokens")
        return {"fitted": fitted}

    def begin(self, sets: Sequence[Callable[[], Floats]]) -> Callable[[], Iterator[Fitted]]:
        """Fit each set where the result is called, in this thread."""
        return lambda: (Fitted(*timed(self.fit, read())) for read in sets)


def try_picture(
    name: ViewName, settings: Settings, points: Sequence[str], tokens: int, read: Read, tell: Tell
) -> tuple[NDArray[np.uint16], NDArray[np.float64], dict[str, Any]]:
    """Coordinates (point, token, component) in their cube, trustworthiness (point,), and the facts as the store has them."""
    tell(IMPORTED, "Starting UMAP")
    own = Projection.of_points(settings, KIND)
    told = ToldProjection(own.kind, own.seed, own.settings, tell=tell)
    picture = FeaturePicture(name, told, points, tokens, read)
    places = picture.places()
    tell(PLACED, "Measuring trustworthiness")
    trust = picture.trustworthiness(places)
    coordinates, _ = PlaceGrid.around(places, panels=picture.panels).encode(places)
    return coordinates, trust, picture.facts | {"parameters": picture.projection.parameters(picture.fitted_vectors)}


def pending_features(points: FeaturePoints) -> list["FeatureDrawing"]:
    """The outdated pictures of every token set, once the token sets are up to date."""
    views = {name: points.views_there(name) for name in points.token_sets()}
    points.write(views)
    return [
        FeatureDrawing(partial(points.group, name), picture, f"{points.model.key}: {picture.key} of {name}")
        for name, there in views.items()
        for picture in _pending(points, name, there)
    ]


def _pending(points: FeaturePoints, name: str, there: list[ViewName]) -> list[Picture]:
    """Pictures to draw: of the settings, and those deleted when the token set was written anew, unless they are drawn."""
    group = points.group(name)
    held: Any = group.attrs["views"]
    wanted = points.settings.feature_names if name in points.wanted else []
    names = list(dict.fromkeys([*wanted, *(view for view in there if str(view) not in held)]))
    pictures = [
        *_feature_pictures(points, group, names),
        *_value_pictures(points, group, names, there),
    ]
    return [picture for picture in pictures if not is_drawn(group, picture)]


def _feature_pictures(features: FeaturePoints, group: zarr.Group, names: list[ViewName]) -> list[Picture]:
    feature = array_of(group, "feature")
    points = [str(point) for point in np.asarray(array_of(group, "point")[:])]
    read, settings, limits = partial(read_point, feature), features.settings, features.limits
    return [
        FeaturePicture(name, Projection.of_points(settings, name.projection), points, feature.shape[1], read, limits)
        for name in names
    ]


def _value_pictures(
    features: FeaturePoints, group: zarr.Group, names: list[ViewName], there: list[ViewName]
) -> list[Picture]:
    """Pictures of the values by PCA and by the views' projections, also by those of deleted views."""
    if not names:
        return []
    held: Any = group.attrs["value_views"]
    wanted = {"pca", *({view.projection for view in there} - set(held)), *(name.projection for name in names)}
    kinds = [kind for kind, row in PROJECTIONS.items() if row.value_tokens and kind in wanted]
    value = array_of(group, "value")
    return [ValuePicture(Projection.of_points(features.settings, kind), value, features.limits) for kind in kinds]


class FeatureDrawing:
    """A picture to be written into the group of a token set, which `open_token_set` opens anew in every transaction."""

    def __init__(self, open_token_set: Callable[[], zarr.Group], picture: Picture, message: str) -> None:
        self._open, self.picture, self._message = open_token_set, picture, message
        self._seconds = 0.0

    def begin(self) -> None:
        """Start the fits of the picture."""
        self.picture.begin()

    def draw(self) -> Iterator[str]:
        """Write the arrays anew; nothing is committed before `finish`."""
        began = time.monotonic()
        places = self.picture.places()
        views = self._open().require_group(self.picture.group)
        if self.picture.key in views:
            del views[self.picture.key]
        _write(views.require_group(self.picture.key), self.picture, places)
        self._seconds = time.monotonic() - began
        yield from ()

    def finish(self) -> str:
        """Describe the picture, and list the pictures of its group, the most faithful first."""
        token_set, picture = self._open(), self.picture
        view = token_set.require_group(picture.group).require_group(picture.key)
        view.attrs.update(
            picture.facts
            | {
                "parameters": picture.projection.parameters(picture.fitted_vectors),
                "seconds": round(self._seconds, 1),
                "view_hash": view_hash(token_set, picture),
                "mean_trustworthiness": _mean(np.asarray(array_of(view, "trustworthiness")[...])),
            }
        )
        _name(token_set, picture.group)
        return self._message


def is_drawn(token_set: zarr.Group, picture: Picture) -> bool:
    """Whether the token set holds the picture, computed from the same vectors with the same settings."""
    views = token_set.require_group(picture.group)
    return picture.key in views and views[picture.key].attrs.get("view_hash") == view_hash(token_set, picture)


def _write(view: zarr.Group, picture: Picture, places: Floats) -> None:
    cubes = PlaceGrid.around(places, panels=picture.panels)
    coordinates, _ = cubes.encode(places)
    sizes = dict(zip(picture.arrays["coordinates"].dims, coordinates.shape, strict=True))
    create_arrays(view, picture.arrays, sizes | {"tile": min(TILE, sizes["token"])})
    arrays: dict[str, NDArray[Any]] = {"coordinates": coordinates, "low": cubes.low, "side": cubes.side}
    for name, values in (arrays | {"trustworthiness": picture.trustworthiness(places)}).items():
        array_of(view, name)[...] = values


def _name(token_set: zarr.Group, group: str) -> None:
    views = token_set.require_group(group)
    faithful = {name: float(str(view.attrs["mean_trustworthiness"])) for name, view in views.groups()}
    token_set.attrs[group] = [name for _, name in sorted((-trust, name) for name, trust in faithful.items())]


def _mean(trust: NDArray[np.float64]) -> float:
    """Mean over the panels; -1 where the tokens are too few to say anything."""
    return float(np.nanmean(trust)) if np.isfinite(trust).any() else -1.0


def view_hash(token_set: zarr.Group, picture: Picture) -> str:
    """Hash of everything the places depend on. Its inputs never change, or every store would be fitted again."""
    projection = picture.projection
    identity: dict[str, Any] = {
        "version": VERSION,
        "view": picture.key,
        "seed": projection.seed,
        "settings": dict(projection.settings),
    }
    if version := PROJECTIONS[projection.kind].point_version:
        identity["fit"] = version
    return str(content_hash(identity | {"features": str(token_set.attrs["features_hash"])}))
