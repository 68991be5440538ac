"""One head in two models: its positions on common axes, what is selected, and what the canvas draws."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dashboard.canvas.spec import FileSource, Panel, Picture
from dashboard.compare.two_models import Two, cached_result
from dashboard.points.drawn import Drawn
from dashboard.points.selection import Selection, mask
from dashboard.points.shown_points import ShownPoints
from dashboard.ui.theme import ramp
from dashboard.web.errors import remedy_text
from dashboard.web.http import data_link
from dashboard.web.view import Place
from store.kernels.projection import align
from store.schema.model import ROLES, head_name
from store.schema.pictures import ViewName

#: Tokens drawn of each model at most.
MOST_TOKENS = 20_000
#: Pixels of a panel at least, however far down the page it stands.
SIDE = 420
MAKE_PICTURE = "Run `make projections` to make the other."


@dataclass(frozen=True, eq=False)
class BothPlaces:
    """Places 0 to 1 on every axis of a cube round both: (2, token, role, component), this model's first.

    `apart` is the mean distance of a point's two places, as a share of the cube's side.
    """

    places: NDArray[np.float32]
    apart: float


def common_views(two: Two) -> list[str]:
    """Views that both models have, in the order of this one's."""
    return [view for view in two.own.views if view in two.other.views]


def drawn_of_both(two: Two, layer: int, head: int, tokens: int) -> tuple[Drawn, Drawn]:
    """The same tokens in the same head of each model; that of the other must be there."""
    count = min(tokens, MOST_TOKENS, two.tokens)
    return Drawn(two.own, count, layer, head), Drawn(two.other, count, layer, head)


def both_places(two: Two, view: str, layer: int, head: int, tokens: int) -> BothPlaces:
    """The other model's places laid onto this one's over all drawn queries and keys (`store.kernels.projection`)."""
    own, other = drawn_of_both(two, layer, head, tokens)
    key = ("places", view, layer, head, own.tokens)
    return cached_result(two, key, lambda: on_one_scale(own.places(view)[0], other.places(view)[0]))


def on_one_scale(own: NDArray[np.float32], other: NDArray[np.float32]) -> BothPlaces:
    """Of places (token, role, component) of the same tokens."""
    flat = own.reshape(-1, own.shape[-1]).astype(np.float64)
    both = np.stack([flat, align(other.reshape(flat.shape).astype(np.float64), flat)])
    low, high = both.min(axis=(0, 1)), both.max(axis=(0, 1))
    side = float((high - low).max()) or 1.0
    inside = 0.5 + (both - (low + high) / 2) / side
    apart = float(np.linalg.norm(inside[1] - inside[0], axis=-1).mean())
    return BothPlaces(inside.astype(np.float32).reshape(2, *own.shape), apart)


def selected_in_both(own: Drawn, other: Drawn, chosen: Selection) -> NDArray[np.bool_]:
    """(2, token, role), this model's first: a search and conditions in each, a region in this one's picture for both."""
    masks = mask(own, chosen), mask(other, replace(chosen, lasso=None)) & mask(own, Selection(lasso=chosen.lasso))
    shape = (1, len(own.rows), 2)
    return np.concatenate([np.broadcast_to(one, shape) for one in masks])


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
    remedy = remedy_text(place.ingest, MAKE_PICTURE)
    return (*said, f"{two.names[1]} has no view “{asked}”. {instead}. {remedy}")


def both_picture(place: Place, two: Two) -> Picture | None:
    """None where the models do not both have it."""
    view = shown_view(place, two)
    if view is None:
        return None
    return _picture(place, two, view, chosen_of(place, two))


def _picture(place: Place, two: Two, view: str, chosen: ShownPoints) -> Picture:
    where, tokens = f"{place.address.layer}/{place.address.head}", chosen.drawn.tokens
    base = f"{data_link(two.own)}/compare/{two.other.name}"
    mask = f"{base}/mask/{where}.bin?tokens={tokens}{chosen.query}" if chosen.selection else None
    colours = f"{base}/colours/{chosen.colour.name}/{where}.bin?tokens={tokens}" if chosen.coloured else None
    name = head_name(place.address.layer, place.address.head)
    return Picture(
        roles=ROLES,
        dimensions=ViewName.parse(view).components,
        columns=2,
        titled=True,
        min_side=SIDE,
        panels=_panels(place, two, name),
        page="/head",
        dropped_fields=("other",),
        label=f"Queries and keys of {name} in {two.names[0]} and in {two.names[1]}",
        points=f"{base}/points/{view}/{where}.bin?tokens={tokens}",
        raster=f"{base}/raster/{view}/{where}.png?tokens={tokens}",
        cards=[f"{data_link(one)}/token/{where}/" for one in (two.own, two.other)],
        colours=colours,
        ramp=ramp(chosen.colour.kind) if colours else None,
        outlined=bool(colours) and chosen.colour.kind == "category",
        mask=mask,
        at=place.address.at,
        file=FileSource.of(place, chosen.selection.fields),
    )


def _panels(place: Place, two: Two, name: str) -> list[Panel]:
    """A click opens the head in the model it is of."""
    address = place.address
    fields = {"layer": str(address.layer), "head": str(address.head)}
    return [
        Panel(name=f"{which}: {title}", summary=name, fields=fields | {"model": one.name})
        for which, title, one in zip(("this", "other"), two.names, (two.own, two.other), strict=True)
    ]
