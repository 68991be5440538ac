"""The label of a head with the rule behind it."""

from dash import html

from dashboard.ui.controls import info
from dashboard.web.context import Context
from store.kernels.labels import LABELS

_NO_RULE = "No rule of Clark et al. 2019 holds: the head attends to no kind of token more than its threshold."


def head_label(context: Context) -> list[str | html.Button]:
    """That of the link's head."""
    label = str(context.corpus.head_labels.values[context.state.layer, context.state.head])
    rule = f"{label}: {LABELS[label]} (Clark et al. 2019)." if label else _NO_RULE
    return [f"Label: {label}" if label else "Unlabelled", info("the label", rule)]
