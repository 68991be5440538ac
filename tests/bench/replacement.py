"""Loss of a model whose heads attend by rules, as on average, or evenly: `STORE=... python -m tests.bench replacement`."""

import numpy as np

from dashboard.sentence.change import Change
from dashboard.sentence.encoder import Encoder
from dashboard.sentence.sample import EncodedSample, SampleChange, Sampling
from dashboard.sentence.sentence import Sentence
from dashboard.web.corpus_model import CorpusModel
from dashboard.web.state import Instead
from store import open_corpus
from store.replacement import ORDERS, SENTENCES, Heads, ordered_heads
from store.repository.errors import NotIngested
from tests.bench.table import show

SHARES = (0.25, 0.5, 1.0)
COMPARED: tuple[Instead, ...] = ("rule", "mean", "even")
COLUMNS = (
    "heads",
    "instead",
    "1 - cosine (95%)",
    "of the distance",
    "Spearman",
    "same nearest",
    "linked before, after",
    "right answers before, after",
    "loss of hidden wordpieces before, after",
)


def replacement(place: str) -> None:
    """Print a table for each order of the heads; first the change where heads get their own patterns back."""
    corpus = open_corpus(place)
    encoder, model = Encoder(), CorpusModel.of(corpus)

    def encode(text: str, change: Change) -> Sentence:
        return encoder.change(model, text, "", change, lambda: False)

    def put_back(text: str, change: Change) -> Sentence:
        own = encode(text, Change())
        return encode(text, Change(change.heads, "rule", own.pattern.reshape(-1, *own.pattern.shape[2:]).tobytes()))

    sampling = Sampling(corpus, encode, SENTENCES)
    before = sampling.as_it_is(_ignore)
    every = ordered_heads(corpus, "explained")
    own = Sampling(corpus, put_back, SENTENCES).changed(sorted(every), "off", _ignore)
    changed = sampling.compare(before, own, sorted(every), "off").vectors
    print(
        f"{corpus.title}: own patterns put back change {changed.mean:.1e}; distance {changed.distance:.3f}", flush=True
    )
    for order, meaning in ORDERS.items():
        try:
            heads = ordered_heads(corpus, order)
        except NotIngested as missing:
            print(f"{order}: {missing}")
            continue
        title = f"{corpus.title}, {len(sampling.sentences)} sentences, heads replaced: {meaning}"
        show(title, COLUMNS, _rows(sampling, before, heads))


def _ignore(_share: float, _title: str | None) -> None:
    """Ignore the progress of a computation."""


def _rows(sampling: Sampling, before: EncodedSample, heads: Heads) -> list[tuple[str, ...]]:
    return [
        _row(share, sampling.compare(before, sampling.changed(own, instead, _ignore), own, instead))
        for share in SHARES
        for own in [heads[: round(share * len(heads))]]
        for instead in COMPARED
    ]


def _row(share: float, found: SampleChange) -> tuple[str, ...]:
    vectors, (low, high) = found.vectors, found.interval
    _, linked, still = found.linked
    links = "" if np.isnan(linked) else f"{linked:.1%}, {still:.1%}"
    labels = found.labels
    right = (
        f"{labels.before.accuracy:.1%}, {labels.after.accuracy:.1%}"
        if labels and labels.before and labels.after
        else ""
    )
    change = f"{vectors.mean:.4f} ({low:.4f} to {high:.4f})"
    return (
        f"{share:.0%}",
        found.instead,
        change,
        f"{vectors.share:.2%}",
        f"{vectors.spearman:.3f}",
        f"{vectors.nearest:.0%}",
        links,
        right,
        f"{found.hidden.before:.3f}, {found.hidden.after:.3f}" if found.hidden else "",
    )
