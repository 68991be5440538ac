"""The head that is selected on the map: its label, links to what it does, and the heads nearest to it."""

from dash import dcc, html

from dashboard.statistics.divergence import nearest
from dashboard.statistics.head_label import head_label
from dashboard.web.context import Context
from store.schema.model import head_name


def selected_head(context: Context) -> list[object]:
    """What stands beside the map. A row of the list selects a head, too."""
    name = head_name(context.state.layer, context.state.head)
    return [
        html.H2(name),
        html.P(head_label(context)),
        html.Ul(
            [html.Li(dcc.Link(text, href=href)) for text, href in _links(context).items()], className="links-of-head"
        ),
        *nearest(context),
    ]


def _links(context: Context) -> dict[str, str]:
    state = context.state
    head = state.on("head")
    return {
        "Open the head": head.href,
        "Highest-scoring pairs": head.with_(tab="pairs").href,
        "Attention in a sentence": state.on("sentence").with_(heads=str(state.head)).href,
    }
