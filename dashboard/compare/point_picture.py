"""What the canvas is asked to draw of one feature point in two models: two panels with the same tokens."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from dashboard.compare.feature_points import BothFeatures, both_features
from dashboard.compare.picture import SIDE
from dashboard.compare.two import Two
from dashboard.features.shown import ShownFeatures
from dashboard.place import Place
from dashboard.theme import PALETTE, ramp
from store.feature_points import SAMPLE, point_title

ROLES = ("token",)


@dataclass(frozen=True)
class ShownPoint:
    """The point and the picture of a link, or those that both models have; colour and selection are this model's."""

    both: BothFeatures
    shown: ShownFeatures
    point: str
    view: str

    @classmethod
    def of(cls, place: Place, two: Two) -> "ShownPoint | None":
        """None where the models have no point or no picture in common."""
        both, address = both_features(two), place.address
        if both is None or not both.points or not both.views:
            return None
        sample = address.with_(material=None, vectors=None)
        shown = ShownFeatures.of(Place(sample, place.snapshot, place.corpus, place.notices, place.typed))
        point = address.point if address.point in both.points else both.points[-1]
        view = shown.view if shown.view in both.views else both.views[0]
        return cls(both, shown, point, view)


def point_picture(place: Place, two: Two) -> dict[str, Any] | None:
    """None where there is none."""
    found = ShownPoint.of(place, two)
    return None if found is None else _picture(place, two, found)


def _picture(place: Place, two: Two, found: ShownPoint) -> dict[str, Any]:
    shown, tokens = found.shown, found.both.tokens
    base = f"/data/{place.snapshot.id}/{two.own.name}/compare/{two.other.name}/features"
    where = f"{found.view}/{quote(found.point)}"
    column = shown.colour.column
    panels = [
        {
            "name": f"{which}: {name}",
            "says": point_title(found.point),
            "fields": {"point": found.point, "model": one.name},
        }
        for which, name, one in zip(("this", "other"), two.names, (two.own, two.other), strict=True)
    ]
    return {
        "roles": list(ROLES),
        "dimensions": 2,
        "columns": 2,
        "titled": True,
        "least": SIDE,
        "panels": panels,
        "page": "/features",
        "leaves": ["other"],
        "label": f"{tokens:,} tokens at {point_title(found.point)} in {two.names[0]} and in {two.names[1]}",
        "points": f"{base}/points/{where}.bin",
        "raster": f"{base}/raster/{where}.png?",
        "cards": [f"/data/{place.snapshot.id}/{one.name}/features/{SAMPLE}/card/" for one in (two.own, two.other)],
        "colours": f"{shown.base}/colours/{column.name}.bin?tokens={tokens}",
        "ramp": ramp(column.kind, ROLES),
        "mask": f"{shown.base}/mask.bin?tokens={tokens}{shown.query}" if shown.selection else None,
        "sizes": None,
        "at": place.address.at,
        "palette": PALETTE,
    }
