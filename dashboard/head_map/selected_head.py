"""The head that is selected on the map: its label, links to what it does, and the heads nearest to it."""

from dash import dcc, html

from dashboard.statistics.divergence import nearest
from dashboard.ui.controls import info
from dashboard.web.context import Context
from store.kernels.labels import LABELS
from store.schema.model import head_name

_RULE = "{}: {} (Clark et al. 2019)."
_NO_RULE = "No rule of Clark et al. 2019 holds: the head attends to no kind of token more than its threshold."


def selected_head(context: Context) -> list[object]:
    """What stands beside the map. A row of the list selects a head, too."""
    name = head_name(context.state.layer, context.state.head)
    return [
        html.H2(name),
        html.P(_label(context)),
        html.Ul(
            [html.Li(dcc.Link(text, href=href)) for text, href in _links(context).items()], className="links-of-head"
        ),
        *nearest(context),
    ]


def _label(context: Context) -> list[str | html.Button]:
    """The label with its rule."""
    label = str(context.corpus.head_labels.values[context.state.layer, context.state.head])
    rule = _RULE.format(label, LABELS[label]) if label else _NO_RULE
    return [f"Label: {label}" if label else "Unlabelled", info("the label", rule)]


def _links(context: Context) -> dict[str, str]:
    state = context.state
    head = state.on("head")
    return {
        "Open the head": head.href,
        "Highest-scoring pairs": head.with_(tab="pairs").href,
        "Attention in a sentence": state.on("sentence").with_(heads=str(state.head)).href,
    }
