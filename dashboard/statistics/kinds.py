"""Heads beside heads: labels, the kinds of heads, and the heads nearest to one by Jensen-Shannon divergence."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.ui.controls import info
from dashboard.ui.markup import heading
from dashboard.ui.page import Unmade, unmade_line
from dashboard.ui.text import all_of
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import STATISTICS, Corpus
from store.kernels.heads import LABELS, THRESHOLDS, NearHead, nearest_heads
from store.phrases import many
from store.repository.errors import NotIngested
from store.repository.ingest_status import IngestProgress
from store.schema.model import head_name

_NO_RULE = "No rule of Clark et al. 2019 holds: the head attends to no kind of token more than its threshold."
#: Label -> what heads with it do.
BEHAVIOURS: Mapping[str, str] = {
    "next": "attend to the next token",
    "previous": "attend to the previous token",
    "self": "attend to the token itself",
    "broad": "attend broadly",
    "[CLS]": "attend to [CLS]",
    "[SEP]": "attend to [SEP]",
    "punctuation": "attend to full stops and commas",
}
#: Label -> its statistic in words, where that is taken as a share of the largest possible value.
OF_LARGEST: Mapping[str, str] = {"broad": "entropy relative to uniform attention"}
#: Heads that are listed as nearest.
LISTED = 10
_MEANING = (
    "Mean Jensen-Shannon divergence of the attention of two heads, in nats per token: 0 for the same attention, at most "
    "ln 2 = 0.693 (Clark et al. 2019, section 6)."
)


def label_of(corpus: Corpus, layer: int, head: int) -> str:
    """The label of a head; empty without one."""
    return str(corpus.head_labels.values[layer, head])


def head_label(label: str) -> list[str | html.Button]:
    """A label in words, and the (i) with its rule."""
    rule = f"{label}: {LABELS[label]} (Clark et al. 2019)." if label else _NO_RULE
    return [f"Label: {label}" if label else "Unlabelled", info("the label", rule)]


@dataclass(frozen=True)
class Kind:
    """Heads with one label: (layer, head) and value of the label's statistic of each, the largest value first.

    Entropy is a share of that of uniform attention, as in the rule of the label: in longer sentences it is larger.
    """

    label: str
    heads: tuple[tuple[int, int], ...]
    values: tuple[float, ...]

    @property
    def statistic(self) -> str:
        """The statistic that the label is a threshold of."""
        return THRESHOLDS[self.label][0]

    @property
    def title(self) -> str:
        """What the values are, all of them shares."""
        return OF_LARGEST.get(self.label, STATISTICS[self.statistic].title)


@cached
def kinds_of(corpus: Corpus) -> tuple[Kind, ...]:
    """The kinds with a head, those of most heads first."""
    each = (_kind(corpus, label) for label in LABELS)
    return tuple(sorted((kind for kind in each if kind.heads), key=lambda kind: -len(kind.heads)))


def _kind(corpus: Corpus, label: str) -> Kind:
    statistic, _ = THRESHOLDS[label]
    means = corpus.head_statistic.sel(source="all", statistic=statistic).values
    heads = np.argwhere(corpus.head_labels.values == label)
    values = means[tuple(heads.T)] / largest_values(corpus, label).mean()
    order = np.argsort(-values, kind="stable")
    return Kind(label, tuple((int(layer), int(head)) for layer, head in heads[order]), tuple(values[order].tolist()))


def largest_values(corpus: Corpus, label: str) -> NDArray[np.float64]:
    """The largest possible value of a label's statistic in each sentence: (counted_sentences,)."""
    sizes = corpus.counted_lengths
    return np.log(sizes) if label in OF_LARGEST else np.ones(len(sizes))


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


def read_nearest(
    corpus: Corpus, layer: int, head: int, running: IngestProgress | None, listed: int = LISTED
) -> Nearest | Unmade:
    """The heads nearest to one; none where the model has one head."""
    labels, near = corpus.head_labels.values, []
    if corpus.layers * corpus.heads > 1:
        try:
            near = nearest_heads(mean_divergence(corpus), layer, head, listed)
        except NotIngested as error:
            return Unmade.of(error, running)
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
