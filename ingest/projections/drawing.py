"""One picture of a material in the store: whether it is up to date, and writing it whole."""

import time
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.projections.cubes import in_cubes
from ingest.projections.placing import Floats, Method
from ingest.text.blocks import content_hash
from store.repository.arrays import array_of, create_arrays
from store.schema.array import TILE, Array

VERSION = "feature views/1"


class Picture(Protocol):
    """What a picture consists of, and how it is made."""

    #: Where it stands in the material, and the attribute that names it once it is whole.
    group: ClassVar[str]
    arrays: ClassVar[Mapping[str, Array]]
    #: How many of the first dims of its places have a cube each.
    panels: ClassVar[int]

    @property
    def method(self) -> Method:
        """With what it is fitted."""
        ...

    @property
    def key(self) -> str:
        """Its name in the store."""
        ...

    @property
    def fitted_vectors(self) -> int:
        """How many of them one fit takes."""
        ...

    @property
    def facts(self) -> dict[str, Any]:
        """Title, what it is fitted and judged on, and the rule for other tokens."""
        ...

    def begin(self) -> None:
        """Start what `places` waits for."""
        ...

    def places(self) -> Floats:
        """Of all tokens (..., token, component)."""
        ...

    def trustworthiness(self, places: Floats) -> NDArray[np.float64]:
        """Of every panel, NaN where there is none."""
        ...


def is_drawn(material: zarr.Group, picture: Picture) -> bool:
    """Whether the material has the picture, made of the same vectors in the same way."""
    views = material.require_group(picture.group)
    return picture.key in views and views[picture.key].attrs.get("view_hash") == _made_of(material, picture)


def draw(material: zarr.Group, picture: Picture) -> None:
    """Make the picture anew and name it, the most faithful first. Not committed."""
    began = time.monotonic()
    places = picture.places()
    trust = picture.trustworthiness(places)
    views = material.require_group(picture.group)
    if picture.key in views:
        del views[picture.key]
    view = views.require_group(picture.key)
    _write(view, picture, places, trust)
    parameters = picture.method.parameters(picture.fitted_vectors)
    seconds = round(time.monotonic() - began, 1)
    made = {"parameters": parameters, "seconds": seconds, "view_hash": _made_of(material, picture)}
    view.attrs.update(picture.facts | made | {"mean_trustworthiness": _mean(trust)})
    _name(material, picture.group)


def _write(view: zarr.Group, picture: Picture, places: Floats, trust: NDArray[np.float64]) -> None:
    coordinates, low, side = in_cubes(places, panels=picture.panels)
    sizes = dict(zip(picture.arrays["coordinates"].dims, coordinates.shape, strict=True))
    create_arrays(view, picture.arrays, sizes | {"tile": min(TILE, sizes["token"])})
    arrays: dict[str, NDArray[Any]] = {"coordinates": coordinates, "low": low, "side": side, "trustworthiness": trust}
    for name, values in arrays.items():
        array_of(view, name)[...] = values


def _name(material: zarr.Group, group: str) -> None:
    views = material.require_group(group)
    faithful = {name: float(str(view.attrs["mean_trustworthiness"])) for name, view in views.groups()}
    material.attrs[group] = [name for _, name in sorted((-trust, name) for name, trust in faithful.items())]


def _mean(trust: NDArray[np.float64]) -> float:
    """Over the panels; -1 where a handful of tokens say nothing."""
    return float(np.nanmean(trust)) if np.isfinite(trust).any() else -1.0


def _made_of(material: zarr.Group, picture: Picture) -> str:
    """Changes when the places would."""
    method = picture.method
    identity = {"version": VERSION, "view": picture.key, "seed": method.seed, "settings": dict(method.settings)}
    return str(content_hash(identity | {"features": str(material.attrs["features_hash"])}))
