"""Jensen-Shannon divergence between heads: how differently they attend, and the heads nearest to one."""

from dataclasses import dataclass

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.ui.controls import info
from dashboard.ui.markup import heading
from dashboard.ui.page import Unmade, unmade_line
from dashboard.ui.text import all_of
from dashboard.web.context import Context
from dashboard.web.state import LinkState
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


def divergence_info(about: str) -> html.Button:
    """The (i) of the divergence between heads."""
    return info("the divergence between heads", about)


def about_divergence(corpus: Corpus) -> str:
    """What the divergence between heads is, with the sample where the store has one."""
    try:
        return f"{_MEANING} {divergence_sample(corpus)}"
    except NotIngested:
        return _MEANING


def mean_divergence(corpus: Corpus) -> NDArray[np.float64]:
    """Divergence of every two heads, mean over the tokens of the sample: (layer, head, layer, head) in nats."""
    values: NDArray[np.float64] = corpus.divergence["mean_divergence"].values
    return values


def divergence_sample(corpus: Corpus) -> str:
    """The tokens that divergences are means over, in words."""
    attributes = corpus.divergence.attrs
    tokens, sentences = int(attributes["tokens"]), int(attributes["sentences"])
    return f"Mean over the first {tokens:,} of {all_of(corpus, 'token')} ({many(sentences, 'sentence')})."


@dataclass(frozen=True)
class Nearest:
    """The heads nearest to one, by divergence, and the labels of all heads: (layer, head)."""

    about: str
    heads: list[NearHead]
    labels: NDArray[np.str_]

    @property
    def others(self) -> int:
        """How many other heads the model has."""
        return int(self.labels.size) - 1


def read_nearest(context: Context, listed: int = LISTED) -> Nearest | Unmade:
    """The heads nearest to the link's; none where the model has one head."""
    corpus, state = context.corpus, context.state
    labels, near = corpus.head_labels.values, []
    if corpus.layers * corpus.heads > 1:
        try:
            near = nearest_heads(mean_divergence(corpus), state.layer, state.head, listed)
        except NotIngested as error:
            return Unmade.of(error, context.ingest)
    return Nearest(about_divergence(corpus), near, labels)


def nearest(state: LinkState, read: Nearest | Unmade) -> list[object]:
    """The nearest heads, each a link of `state` to it; a message where the store has no divergences or the model one head."""
    about = _MEANING if isinstance(read, Unmade) else read.about
    title = html.H2([f"Nearest to {head_name(state.layer, state.head)}", divergence_info(about)])
    if isinstance(read, Unmade):
        return [title, unmade_line(read)]
    if not read.others:
        return [title, html.P("The model has one head. Ingest one with more to compare them.", className="caption")]
    rows = [_row(state, head, str(read.labels[head.layer, head.head])) for head in read.heads]
    table = html.Table(
        [heading(("head", "label", "nats per token"), {"nats per token"}), html.Tbody(rows)],
        className="rows even",
    )
    return [title, table, html.P(f"The nearest {len(rows)} of {read.others} heads.", className="caption")]


def _row(state: LinkState, head: NearHead, label: str) -> html.Tr:
    link = dcc.Link(
        head_name(head.layer, head.head),
        href=state.on(state.page).with_(layer=head.layer, head=head.head).href,
    )
    return html.Tr([html.Td(link), html.Td(label), html.Td(f"{head.divergence:.3f}", className="number")])
