"""Stage `projections`: bring pictures of heads, of feature points and of values up to date, and write those of points and values.

A picture is fitted on a sample of the tokens; every other token is placed by a stated rule; the places are judged
against the vectors and stored as whole numbers in a cube. Hashes tell what each part was computed from: what is up to
date is not computed again, and an interrupted ingest goes on where it stopped. A picture of feature points or values is
written whole in one transaction: no commit holds a half of one. What the attributes of the token set name is whole.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.encode.feature_points import FeaturePoints
from ingest.encode.point_vectors import read_point
from ingest.projections.feature_pictures import FeaturePicture, Picture, ValuePicture
from ingest.projections.projection import PROJECTIONS, Floats, PlaceGrid, Projection
from ingest.text.blocks import content_hash
from store.repository.arrays import array_of, create_arrays
from store.repository.writer import Writer
from store.schema import TILE
from store.schema.pictures import ViewName


class Drawing(Protocol):
    """One picture, or several that are computed together because they place the same vectors."""

    def begin(self) -> None:
        """Start the fits that run in processes, so that other pictures need not wait for them."""
        ...

    def draw(self) -> Iterator[str]:
        """Fit, place, judge and write. Yields a commit message wherever the store may be left as it is."""
        ...

    def finish(self) -> str:
        """Describe the pictures and mark them as whole; the message of the last commit."""
        ...


Drawn = TypeVar("Drawn", bound=Drawing)


def start_fits(drawings: Sequence[Drawn]) -> Sequence[Drawn]:
    """Start the fits of pictures, unless they have begun; the same pictures."""
    for drawing in drawings:
        drawing.begin()
    return drawings


def draw(writer: Writer, drawings: Sequence[Drawn]) -> Iterator[Drawn]:
    """Compute pictures one after the other; each is yielded when it is whole and committed."""
    for drawing in start_fits(drawings):
        _commit(writer, drawing.draw())
        _commit(writer, [drawing.finish()])
        yield drawing


def _commit(writer: Writer, messages: Iterable[str]) -> None:
    for message in messages:
        writer.commit(message)


VERSION = "feature views/1"


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
    """Of those in the settings, and those that went when the token set was written anew, what is not drawn."""
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
    """By PCA, and by the projections of the views: also those that went with the token set's values."""
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
        """Describe the picture and name it, the most faithful first."""
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
    """Over the panels; -1 where a handful of tokens say nothing."""
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
