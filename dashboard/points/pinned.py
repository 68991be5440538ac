"""The pinned head: a second head beside that of the link, with the same tokens, colours, sizes and selection."""

from dataclasses import replace

from dash import dcc, html
from dash.development.base_component import Component

from dashboard.canvas.spec import Panel, Picture, SecondHead
from dashboard.points.captions import caption
from dashboard.points.picture import ShownPoints, focus_url, head_picture, head_region
from dashboard.web.context import Context
from dashboard.web.http import data_link
from store.schema.model import head_name

#: Pixels of a panel below which the two stand below each other.
NARROWEST = 260
SAME = "Pinned. Open another head to see both."


def picture_with_pinned(context: Context, points: ShownPoints) -> Picture:
    """The picture of the link's head, with the pinned one beside it."""
    picture, second = head_picture(context, points), context.state.second_head
    return _with_second(context, picture, *second) if second else picture


def _with_second(context: Context, picture: Picture, layer: int, head: int) -> Picture:
    name, pinned = head_name(layer, head), f"&pinned={layer}-{head}"
    return replace(
        picture,
        panels=[*picture.panels, Panel(name=name, value="pinned")],
        columns=2,
        titled=True,
        narrowest=NARROWEST,
        label=f"{picture.label} and of {name}",
        points=picture.points + pinned,
        raster=picture.raster + pinned,
        colours=picture.colours and picture.colours + pinned,
        contours=picture.contours and picture.contours + pinned,
        clusters=picture.clusters and picture.clusters + pinned,
        sizes=picture.sizes and picture.sizes + pinned,
        card=None,
        cards=[str(picture.card), f"{data_link(context.corpus)}/token/{layer}/{head}/"],
        second=SecondHead(focus=focus_url(context, layer, head), region=head_region(context, layer, head)),
    )


def pin_links(context: Context) -> html.Div:
    """Links that pin the head, exchange it with the pinned one, or leave that out."""
    state = context.state
    if state.pinned is None:
        return html.Div(_link("Pin this head", f"{state.layer}-{state.head}", context), className="pin")
    second = state.second_head
    said = _of_second(context, *second) if second else [html.Span(SAME, className="caption")]
    return html.Div([*said, _link("Unpin", None, context)], className="pin")


def _of_second(context: Context, layer: int, head: int) -> list[Component]:
    """Which head is pinned, and the way to exchange both."""
    state = context.state
    swapped = state.with_(layer=layer, head=head, pinned=f"{state.layer}-{state.head}", at=None)
    return [
        html.Span(f"{head_name(layer, head)} pinned", className="caption"),
        dcc.Link("Swap", href=swapped.href, className="act", title=f"{head_name(layer, head)} becomes the head shown"),
    ]


def _link(text: str, pinned: str | None, context: Context) -> dcc.Link:
    title = "Keep this head beside the next ones" if pinned else "Show one head"
    return dcc.Link(text, href=context.state.with_(pinned=pinned, at=None).href, className="act", title=title)


def scale_caption(context: Context, points: ShownPoints) -> list[html.P]:
    """Whose scale both heads have, where colours or sizes are numbers of a head."""
    state = context.state
    scaled = [
        *(["Colours"] if points.colour.kind == "number" and points.colour.per_head else []),
        *(["sizes"] if state.size else []),
    ]
    if state.second_head is None or not scaled:
        return []
    return [
        caption(
            f"{' and '.join(scaled).capitalize()} of both heads are on the scale of {head_name(state.layer, state.head)}."
        )
    ]


def pinned_name(context: Context) -> str:
    """` and L3 H7` where a second head is shown, else nothing."""
    second = context.state.second_head
    return f" and {head_name(*second)}" if second else ""
