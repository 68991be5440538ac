"""Page Heads: queries and keys of every head, one panel each, on one canvas."""

from dash import html

from dashboard.canvas.encoding import grid_tokens
from dashboard.canvas.spec import Picture
from dashboard.points.captions import fidelity_caption, sample_caption
from dashboard.points.controls import around_picture
from dashboard.points.picture import grid_picture
from dashboard.points.search_results import hit_table
from dashboard.points.shown_points import ShownPoints
from dashboard.ui.page import Page, without_picture
from dashboard.ui.tables import file_links
from dashboard.web.context import Context
from store.schema.model import head_name


def picture(context: Context) -> Picture:
    """The picture of all heads."""
    return grid_picture(context, _shown_points(context))


def layout(context: Context) -> Page:
    """The page of a link."""
    corpus = context.corpus
    if not corpus.views:
        return without_picture(context, "Heads")
    points = _shown_points(context)
    above = [
        html.H1(f"Queries and keys of all {corpus.layers * corpus.heads} heads"),
        _how_to_read(),
        *around_picture(context, points, head=False),
    ]
    tokens = points.drawn.tokens
    below = [
        sample_caption(context, tokens),
        fidelity_caption(corpus, context.view),
        file_links(context, "The drawn points of all heads", f"points/{context.view}/grid", {"tokens": str(tokens)}),
        *hit_table(context, points),
    ]
    return Page(above=above, below=below, notices=points.notices)


def _how_to_read() -> html.P:
    return html.P(
        "One panel per head: layers down, heads across. A key near a query receives much of its attention. Click a head, or press "
        f"Enter, to open it; the wheel zooms. Numbers count from 0: {head_name(7, 9)} is head 8-10 of the papers.",
        className="how-to-read",
    )


def _shown_points(context: Context) -> ShownPoints:
    return ShownPoints.of(context, grid_tokens(context.corpus))
