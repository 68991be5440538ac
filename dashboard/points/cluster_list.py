"""The named clusters of the shown heads below the picture: where no name can be hovered, and those without room for one."""

from dash import html

from dashboard.points.clusters import Cluster, clusters_of_head
from dashboard.points.picture import ShownPoints, is_plane
from dashboard.ui.tables import heading
from dashboard.web.context import Context
from store.schema.model import ROLES, head_name
from store.wording import many

#: The last two are numbers.
COLUMNS = ("cluster", "role", "points", "of its role")


def cluster_list(context: Context, points: ShownPoints) -> list[html.Details]:
    """A table for each head, closed at first; none where no clusters are drawn."""
    state = context.state
    if not (state.clusters and is_plane(context)):
        return []
    return [_of_head(context, points.drawn.tokens, *head) for head in state.shown_heads]


def _of_head(context: Context, tokens: int, layer: int, head: int) -> html.Details:
    found = clusters_of_head(context.corpus, context.view, tokens, layer, head)
    summary = html.Summary(f"{head_name(layer, head)}: {many(len(found), 'named cluster')}")
    body = html.Tbody([_row(cluster) for cluster in found])
    return html.Details([summary, html.Table([heading(COLUMNS, COLUMNS[2:]), body], className="rows narrow")])


def _row(cluster: Cluster) -> html.Tr:
    numbers = f"{cluster.points:,}", f"{100 * cluster.points / cluster.of:.1f} %"
    names = html.Td(cluster.name), html.Td(ROLES[cluster.role])
    return html.Tr([*names, *(html.Td(number, className="number") for number in numbers)])
