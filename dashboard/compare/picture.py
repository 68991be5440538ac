"""One head in two models: its positions on common axes, what is selected, and what the canvas draws."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dashboard.canvas.spec import FileSource, Panel, Picture
from dashboard.compare.two_models import ModelPair, cached_result, lettered
from dashboard.points.drawn import Drawn
from dashboard.points.picture import ShownPoints
from dashboard.points.selection import Selection, mask
from dashboard.ui.theme import ramp
from dashboard.web.context import Context
from dashboard.web.errors import remedy_text
from dashboard.web.http import data_link
from dashboard.web.state import LinkState
from store.kernels.projection import align
from store.schema.model import ROLES, head_name
from store.schema.pictures import ViewName

#: Tokens drawn of each model at most.
MOST_TOKENS = 20_000
#: Pixels of a panel at least, however far down the page it stands.
SIDE = 420
MAKE_PICTURE = "Run `headscape projections` to make the other."
TO_RING = "Hover a token to ring it in both panels."
KEYS = "P goes to the token nearest to the middle of a panel; Shift with the arrow keys goes to the next."


@dataclass(frozen=True, eq=False)
class BothPlaces:
    """Aligned positions 0 to 1 in a common cube: (2, token, role, component), this model first.

    `apart` is the mean distance of a point's two positions, as a share of the cube's side.
    """

    places: NDArray[np.float32]
    apart: float


def common_views(two: ModelPair) -> list[str]:
    """Common views, in the order of this model."""
    return [view for view in two.own.views if view in two.other.views]


def drawn_of_both(two: ModelPair, layer: int, head: int, tokens: int) -> tuple[Drawn, Drawn]:
    """The same tokens in the same head of each model."""
    count = min(tokens, MOST_TOKENS, two.tokens)
    return Drawn(two.own, count, layer, head), Drawn(two.other, count, layer, head)


def both_places(two: ModelPair, view: str, layer: int, head: int, tokens: int) -> BothPlaces:
    """The other model's positions aligned to this one's over all drawn queries and keys (`store.kernels.projection`)."""
    own, other = drawn_of_both(two, layer, head, tokens)
    key = ("places", view, layer, head, own.tokens)
    return cached_result(two, key, lambda: on_one_scale(own.places(view)[0], other.places(view)[0]))


def on_one_scale(own: NDArray[np.float32], other: NDArray[np.float32]) -> BothPlaces:
    """Positions (token, role, component) of the same tokens, aligned and scaled into one cube."""
    flat = own.reshape(-1, own.shape[-1]).astype(np.float64)
    both = np.stack([flat, align(other.reshape(flat.shape).astype(np.float64), flat)])
    low, high = both.min(axis=(0, 1)), both.max(axis=(0, 1))
    side = float((high - low).max()) or 1.0
    inside = 0.5 + (both - (low + high) / 2) / side
    apart = float(np.linalg.norm(inside[1] - inside[0], axis=-1).mean())
    return BothPlaces(inside.astype(np.float32).reshape(2, *own.shape), apart)


def selected_in_both(own: Drawn, other: Drawn, points: Selection) -> NDArray[np.bool_]:
    """Which points are selected: (2, token, role), this model first. A lasso in this model's picture selects in both."""
    masks = mask(own, points), mask(other, replace(points, lasso=None)) & mask(own, Selection(lasso=points.lasso))
    shape = (1, len(own.rows), 2)
    return np.concatenate([np.broadcast_to(mask, shape) for mask in masks])


def shown_view(state: LinkState, two: ModelPair) -> str | None:
    """The view of the link where both models have it, else the first common one."""
    views, wanted = common_views(two), state.view or next(iter(two.own.views), None)
    return wanted if wanted in views else next(iter(views), None)


def shown_points_of(context: Context, two: ModelPair) -> ShownPoints:
    """The shown points of this model."""
    state = context.state
    own, _ = drawn_of_both(two, state.layer, state.head, state.tokens)
    return ShownPoints.of(context, own.tokens, layer=state.layer, head=state.head)


def picture_notices(context: Context, two: ModelPair) -> tuple[str, ...]:
    """Notices on what of the link the pictures of a head ignore."""
    view, shown = context.state.view, shown_view(context.state, two)
    notices = () if shown is None else shown_points_of(context, two).notices
    if view in (None, shown):
        return notices
    instead = "No view is shown" if shown is None else f"Showing “{shown}”"
    remedy = remedy_text(context.ingest, MAKE_PICTURE)
    return (*notices, f"{two.names[1]} has no view “{view}”. {instead}. {remedy}")


def both_picture(context: Context, two: ModelPair) -> Picture | None:
    """The picture of a head in both models; None without a common view."""
    view = shown_view(context.state, two)
    if view is None:
        return None
    return _picture(context, two, view, shown_points_of(context, two))


def _picture(context: Context, two: ModelPair, view: str, points: ShownPoints) -> Picture:
    where, tokens = f"{context.state.layer}/{context.state.head}", points.drawn.tokens
    base = f"{data_link(two.own)}/compare/{two.other.name}"
    mask = f"{base}/mask/{where}.bin?tokens={tokens}{points.query}" if points.selection else None
    colours = f"{base}/colours/{points.colour.name}/{where}.bin?tokens={tokens}" if points.coloured else None
    name = head_name(context.state.layer, context.state.head)
    return Picture(
        roles=ROLES,
        dimensions=ViewName.parse(view).components,
        columns=2,
        titled=True,
        min_side=SIDE,
        panels=_panels(context.state, two, name),
        page="head",
        dropped_fields=("other",),
        label=f"Queries and keys of {name} in {two.names[0]} and in {two.names[1]}",
        points=f"{base}/points/{view}/{where}.bin?tokens={tokens}",
        raster=f"{base}/raster/{view}/{where}.png?tokens={tokens}",
        cards=[f"{data_link(model)}/token/{where}/" for model in (two.own, two.other)],
        colours=colours,
        ramp=ramp(points.colour.kind) if colours else None,
        outlined=bool(colours) and points.colour.kind == "category",
        mask=mask,
        at=context.state.at,
        file=FileSource.of(context, points.selection.fields),
    )


def _panels(state: LinkState, two: ModelPair, name: str) -> list[Panel]:
    """The two panels; each opens the head in its model."""
    fields = {"layer": str(state.layer), "head": str(state.head)}
    return [
        Panel(name=title, summary=name, fields=fields | {"model": model.name})
        for title, model in zip(lettered(two), (two.own, two.other), strict=True)
    ]


def alignment(apart: float) -> str:
    """How the pictures of both models are made comparable, and how well that went: the mean distance as a share of a side."""
    return (
        "Fitted for each model; the points of B are aligned to those of A (orthogonal Procrustes), with a mean distance of "
        f"{100 * apart:.1f}% of the side."
    )
