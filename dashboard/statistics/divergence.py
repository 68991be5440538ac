"""Jensen-Shannon divergence between heads: how differently they attend, and the heads nearest to one."""

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.ui.controls import info
from dashboard.ui.progress import unmade_line
from dashboard.ui.tables import heading
from dashboard.ui.text import all_of
from dashboard.web.context import Context
from store import Corpus
from store.kernels.labels import NearHead, nearest_heads
from store.phrases import many
from store.repository.errors import NotIngested
from store.schema.model import head_name

#: Heads that are listed as nearest.
LISTED = 10
_MEANING = (
    "Mean Jensen-Shannon divergence of the attention of two heads, in nats per token: 0 for the same attention, at most "
    "ln 2 = 0.693 (Clark et al. 2019, section 6)."
)


def divergence_info(corpus: Corpus) -> html.Button:
    """The (i) of the divergence between heads, with the sample where the store has one."""
    try:
        about = f"{_MEANING} {divergence_sample(corpus)}"
    except NotIngested:
        about = _MEANING
    return info("the divergence between heads", about)


def mean_divergence(corpus: Corpus) -> NDArray[np.float64]:
    """Divergence of every two heads, mean over the tokens of the sample: (layer, head, layer, head) in nats."""
    values: NDArray[np.float64] = corpus.divergence["mean_divergence"].values
    return values


def divergence_sample(corpus: Corpus) -> str:
    """The tokens that divergences are means over, in words."""
    attributes = corpus.divergence.attrs
    tokens, sentences = int(attributes["tokens"]), int(attributes["sentences"])
    return f"Mean over the first {tokens:,} of {all_of(corpus, 'token')} ({many(sentences, 'sentence')})."


def nearest(context: Context, *, listed: int = LISTED, page: str | None = None) -> list[object]:
    """The nearest heads by divergence, each a link; a message where the store has no divergences or the model one head."""
    corpus, state = context.corpus, context.state
    title = html.H2([f"Nearest to {head_name(state.layer, state.head)}", divergence_info(corpus)])
    if corpus.layers * corpus.heads < 2:
        return [title, html.P("The model has one head. Ingest one with more to compare them.", className="caption")]
    try:
        mean = mean_divergence(corpus)
    except NotIngested as error:
        return [title, unmade_line(context, error)]
    heads = nearest_heads(mean, state.layer, state.head, listed)
    labels = corpus.head_labels.values
    rows = [_row(context, head, labels, page) for head in heads]
    table = html.Table(
        [heading(("head", "label", "nats per token"), {"nats per token"}), html.Tbody(rows)],
        className="rows even",
    )
    return [title, table, html.P(f"The nearest {len(heads)} of {labels.size - 1} heads.", className="caption")]


def _row(context: Context, head: NearHead, labels: NDArray[np.str_], page: str | None) -> html.Tr:
    state = context.state.on(page or context.state.page).with_(layer=head.layer, head=head.head)
    link = dcc.Link(head_name(head.layer, head.head), href=state.href)
    label = str(labels[head.layer, head.head])
    return html.Tr([html.Td(link), html.Td(label), html.Td(f"{head.divergence:.3f}", className="number")])
