"""What the canvas is asked to draw of one head in two models: two panels with the same tokens."""

from typing import Any

from dashboard.canvas.saved import saved
from dashboard.compare.places import common_views, drawn_of_both
from dashboard.compare.two import Two
from dashboard.points.shown_points import ShownPoints
from dashboard.ui.theme import PALETTE, ramp
from dashboard.ui.under_way import what_to_do
from dashboard.web.data_links import data_link
from dashboard.web.view import Place
from store.schema import ROLES, head_name
from store.views import ViewName

#: Pixels of a panel at least, however far down the page it stands.
SIDE = 420
MAKE_PICTURE = "Run `make projections` to make the other."


def shown_view(place: Place, two: Two) -> str | None:
    """The view of the link where both models have it, else the first that both have."""
    views = common_views(two)
    return place.view if place.view in views else next(iter(views), None)


def chosen_of(place: Place, two: Two) -> ShownPoints:
    """What is selected and how it is coloured, in this model."""
    address = place.address
    own, _ = drawn_of_both(two, address.layer, address.head, address.tokens)
    return ShownPoints.of(place, own.tokens, layer=address.layer, head=address.head)


def picture_notices(place: Place, two: Two) -> tuple[str, ...]:
    """What of the link cannot be followed in the pictures of a head."""
    asked, shown = place.address.view, shown_view(place, two)
    said = () if shown is None else chosen_of(place, two).notices
    if asked in (None, shown):
        return said
    instead = "None is shown" if shown is None else f"Shown is “{shown}”"
    remedy = what_to_do(place.ingest, MAKE_PICTURE)
    return (*said, f"{two.names[1]} has no view “{asked}”. {instead}. {remedy}")


def both_picture(place: Place, two: Two) -> dict[str, Any] | None:
    """None where the models do not both have it."""
    view = shown_view(place, two)
    if view is None:
        return None
    return _picture(place, two, view, chosen_of(place, two))


def _picture(place: Place, two: Two, view: str, chosen: ShownPoints) -> dict[str, Any]:
    where, tokens = f"{place.address.layer}/{place.address.head}", chosen.drawn.tokens
    base = f"{data_link(two.own)}/compare/{two.other.name}"
    mask = f"{base}/mask/{where}.bin?tokens={tokens}{chosen.query}" if chosen.selection else None
    colours = f"{base}/colours/{chosen.colour.name}/{where}.bin?tokens={tokens}" if chosen.coloured else None
    name = head_name(place.address.layer, place.address.head)
    return {
        "roles": list(ROLES),
        "dimensions": ViewName.parse(view).components,
        "columns": 2,
        "titled": True,
        "least": SIDE,
        "panels": _panels(place, two, name),
        "page": "/head",
        "leaves": ["other"],
        "label": f"Queries and keys of {name} in {two.names[0]} and in {two.names[1]}",
        "points": f"{base}/points/{view}/{where}.bin?tokens={tokens}",
        "raster": f"{base}/raster/{view}/{where}.png?tokens={tokens}",
        "cards": [f"{data_link(one)}/token/{where}/" for one in (two.own, two.other)],
        "colours": colours,
        "ramp": ramp(chosen.colour.kind) if colours else None,
        "outlined": bool(colours) and chosen.colour.kind == "category",
        "mask": mask,
        "sizes": None,
        "at": place.address.at,
        "palette": PALETTE,
        "saved": saved(place, chosen.selection.fields),
    }


def _panels(place: Place, two: Two, name: str) -> list[dict[str, Any]]:
    """A click opens the head in the model it is of."""
    address = place.address
    fields = {"layer": str(address.layer), "head": str(address.head)}
    return [
        {"name": f"{which}: {title}", "says": name, "fields": fields | {"model": one.name}}
        for which, title, one in zip(("this", "other"), two.names, (two.own, two.other), strict=True)
    ]
