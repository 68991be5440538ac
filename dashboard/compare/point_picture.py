"""What the canvas is asked to draw of one feature point in two models: two panels with the same tokens."""

from dataclasses import dataclass, replace
from urllib.parse import quote

from dashboard.canvas.spec import FileSource, Panel, Picture
from dashboard.compare.feature_points import BothFeatures, both_features
from dashboard.compare.picture import MAKE_PICTURE, SIDE
from dashboard.compare.two_models import Two
from dashboard.features.columns import PREDICTED, TokenColumn
from dashboard.features.data import ROLES
from dashboard.features.shown import ShownFeatures
from dashboard.ui.theme import ramp
from dashboard.web.errors import remedy_text
from dashboard.web.http import data_link
from dashboard.web.view import Place
from store.schema.features import SAMPLE, point_title

#: Fields that are left where the link of a panel goes, unless they are of what is drawn here.
OF_FEATURES = ("material", "vectors", "fview", "ftoken", "flasso")


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
        shown = ShownFeatures.of(_in_colours_of_both(place), both.tokens)
        point = address.point if address.point in both.points else both.points[-1]
        view = shown.view if shown.view in both.views else both.views[0]
        return cls(both, shown, point, view)

    @property
    def columns(self) -> dict[str, TokenColumn]:
        """Everything to colour by that is the same in both."""
        return {name: one for name, one in self.shown.columns.items() if name not in PREDICTED}

    def missing(self, place: Place, two: Two) -> list[str]:
        """A sentence on everything that the link asks for and not both models have."""
        address, other = place.address, two.names[1]
        said = []
        if address.point not in (None, self.point):
            said.append(
                f"{other} has no feature point {point_title(address.point)}. Shown is {point_title(self.point)}; choose another one."
            )
        if address.fview not in (None, self.view):
            remedy = remedy_text(place.ingest, MAKE_PICTURE)
            said.append(f"{other} has no picture “{address.fview}” of feature points. Shown is “{self.view}”. {remedy}")
        if address.fcolour in PREDICTED:
            said.append(
                "Each model predicts its own labels. Coloured is by kind of token; see predictions on page Features."
            )
        return said


def _in_colours_of_both(place: Place) -> Place:
    return replace(place, address=place.address.with_(fcolour="kind")) if place.address.fcolour in PREDICTED else place


def point_notices(place: Place, two: Two) -> tuple[str, ...]:
    """What of the link cannot be followed in the pictures of a point."""
    found = ShownPoint.of(place, two)
    return () if found is None else (*found.shown.notices, *found.missing(place, two))


def point_picture(place: Place, two: Two) -> Picture | None:
    """None where there is none."""
    found = ShownPoint.of(place, two)
    return None if found is None else _picture(place, two, found)


def _picture(place: Place, two: Two, found: ShownPoint) -> Picture:
    shown, tokens = found.shown, found.both.tokens
    base = f"{data_link(two.own)}/compare/{two.other.name}/features"
    where = f"{found.view}/{quote(found.point)}"
    panels = [
        Panel(
            name=f"{which}: {name}",
            summary=point_title(found.point),
            fields={"point": found.point, "model": one.name},
        )
        for which, name, one in zip(("this", "other"), two.names, (two.own, two.other), strict=True)
    ]
    return Picture(
        roles=ROLES,
        dimensions=2,
        columns=2,
        titled=True,
        min_side=SIDE,
        panels=panels,
        page="/features",
        dropped_fields=["other", *(name for name in OF_FEATURES if place.address.fields[name] is None)],
        label=f"{tokens:,} tokens at {point_title(found.point)} in {two.names[0]} and in {two.names[1]}",
        points=f"{base}/points/{where}.bin",
        raster=f"{base}/raster/{where}.png?",
        cards=[f"{data_link(one)}/features/{SAMPLE}/card/" for one in (two.own, two.other)],
        colours=shown.colours,
        ramp=ramp(shown.colour.column.kind, ROLES),
        mask=f"{shown.base}/mask.bin?tokens={shown.tokens}{shown.query}" if shown.selection else None,
        at=place.address.at,
        file=FileSource.of(place, shown.selection.fields),
    )
