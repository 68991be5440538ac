"""Page Heads: queries and keys of every head, one panel each, on one canvas."""

import dash_mantine_components as dmc
from dash import html

from dashboard.address import Place
from dashboard.captions import fidelity_caption, legend, sample_caption
from dashboard.point_panels import PointPanels
from dashboard.points import grid_tokens
from dashboard.statistics import one_line
from dashboard.theme import PALETTE
from store.schema import head_name


def layout(place: Place) -> list[object]:
    """The page at a place."""
    corpus = place.corpus
    if not corpus.views:
        return [
            html.H1("Heads"),
            dmc.Alert("This model has no picture yet. Run `make ingest` to its end.", color="orange"),
        ]
    view, tokens = corpus.views[0], grid_tokens(corpus)
    base = f"/data/{place.snapshot.id}/{corpus.name}"
    return [
        html.H1(f"Queries and keys of all {corpus.layers * corpus.heads} heads"),
        html.P(
            "One panel a head: layers downwards, heads across. A key near a query gets much of its attention. "
            f"Hover names a head, a click or Enter opens it; L7 H9 counts from 0 (the papers' “8-10”, not {head_name(8, 10)}).",
            className="how-to-read",
        ),
        legend(),
        PointPanels(
            id="points",
            src=f"{base}/points/{view}/grid.bin?tokens={tokens}",
            raster=f"{base}/raster/{view}/grid.png?tokens={tokens}",
            columns=corpus.heads,
            panels=one_line(corpus, view),
            label=f"Queries and keys of {corpus.layers} by {corpus.heads} heads",
            palette=PALETTE,
        ),
        sample_caption(place, view, tokens),
        fidelity_caption(corpus, view),
    ]
