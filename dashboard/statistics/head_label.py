"""The label of a head with the rule behind it."""

from dash import html

from dashboard.ui.controls import info
from store import Corpus
from store.kernels.heads import LABELS

_NO_RULE = "No rule of Clark et al. 2019 holds: the head attends to no kind of token more than its threshold."


def label_of(corpus: Corpus, layer: int, head: int) -> str:
    """The label of a head; empty without one."""
    return str(corpus.head_labels.values[layer, head])


def head_label(label: str) -> list[str | html.Button]:
    """A label in words, and the (i) with its rule."""
    rule = f"{label}: {LABELS[label]} (Clark et al. 2019)." if label else _NO_RULE
    return [f"Label: {label}" if label else "Unlabelled", info("the label", rule)]
