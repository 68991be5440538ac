"""Heads ranked by the pairs of a relation or a pattern that they link, each with the sentence in which it links most."""

import numpy as np
import xarray as xr
from dash import dcc, html

from dashboard.relations.data import links_of, shown_head
from dashboard.relations.kinds import NamedKind
from dashboard.relations.linked_sentences import best_sentence, most_linked, show_link
from dashboard.ui.markup import heading, scrolling
from dashboard.ui.work import watched
from dashboard.web.context import Context
from store.phrases import many
from store.schema.model import head_name
from store.schema.relations import ALL

#: Heads that are listed.
LISTED = 8


def ranked_heads(context: Context, relation: str) -> list[object]:
    """The first heads at the relation of the link, and the sentences of the shown one."""
    kind = NamedKind(relation, context.state.direction)
    links = links_of(context.corpus, relation).sel(direction=kind.direction)
    shown = shown_head(context, relation)
    titles = ("head", "accuracy", "95% interval", "most links in a sentence", "sentences")
    rows = [html.Tr(_row(context, kind, links, head, shown)) for head in watched(first_heads(links))]
    table = html.Table([heading(titles, titles[1:3]), html.Tbody(rows)], className="rows")
    total = many(context.corpus.layers * context.corpus.heads, "head")
    caption = f"The first {len(rows)} of {total}, ranked on one half of the sentences, accuracy in % on the other."
    return [
        html.P(caption, className="caption"),
        scrolling(table, ranking_title(relation)),
        *most_linked(context, kind, *shown),
    ]


def ranking_title(relation: str) -> str:
    """What heads are ranked by."""
    return f"Heads ranked by {'all relations' if relation == ALL else relation}"


def first_heads(links: xr.Dataset) -> list[tuple[int, int]]:
    """The heads that link most pairs of the choosing half, of one direction."""
    chosen = np.nan_to_num(links.chosen_accuracy.values, nan=-1)
    order = np.argsort(-chosen, axis=None, kind="stable")[:LISTED]
    return [(int(layer), int(head)) for layer, head in zip(*np.unravel_index(order, chosen.shape), strict=True)]


def _row(
    context: Context, kind: NamedKind, links: xr.Dataset, head: tuple[int, int], shown: tuple[int, int]
) -> list[html.Td]:
    own = links.isel(layer=head[0], head=head[1])
    accuracy, (low, high) = float(own.reported_accuracy), own.interval.values
    page = context.state.on("head").with_(layer=head[0], head=head[1])
    return [
        html.Td(dcc.Link(head_name(*head), href=page.href)),
        html.Td("" if accuracy != accuracy else f"{100 * accuracy:.1f}", className="number"),
        html.Td("" if low != low else f"{100 * low:.1f} to {100 * high:.1f}", className="number"),
        best_sentence(context, kind, *head),
        show_link(context, *head, shown),
    ]
