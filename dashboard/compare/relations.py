"""Relations that a model links better or worse than another: the best head of each in both models."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.compare.two_models import SEED, ModelPair, cached_result, lettered
from dashboard.relations.data import BestHead, best_of, links_of_pairs
from dashboard.ui.controls import info
from dashboard.ui.markup import heading, scrolling
from dashboard.ui.text import in_brackets, signed
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.intervals import ShareReplicates, draw_counts
from store.phrases import many
from store.repository.errors import NotIngested
from store.schema.model import head_name

_MEANING = (
    "Accuracy of the best head of each model at a relation, each chosen on one half of the sentences, and their difference (B - A) on the "
    "other half, with a 95% interval by bootstrap over the same sentences of both."
)


@dataclass(frozen=True)
class RelationChange:
    """The best heads of two models at a relation, and their accuracies in the common sentences.

    `interval` is that of the difference, other less own.
    """

    own: BestHead
    other: BestHead
    own_accuracy: float
    other_accuracy: float
    interval: tuple[float, float]

    @property
    def difference(self) -> float:
        """Accuracy of the other model less that of the own one."""
        return self.other_accuracy - self.own_accuracy


def relations_of_both(state: LinkState, two: ModelPair) -> list[object]:
    """The table of relations, the largest change first; nothing where a model has no relations."""
    try:
        changes = changed_relations(two)
    except NotIngested:
        return []
    own, other = lettered(two)
    titles = (
        "relation",
        f"best head of {own}",
        "accuracy",
        f"best head of {other}",
        "accuracy ",
        "difference",
        "95% interval",
    )
    numbers = {"accuracy", "accuracy ", "difference", "95% interval"}
    rows = [html.Tr(_row(state, two, change)) for change in changes]
    return [
        html.H2(["Relations gained and lost", info("relations of both models", _MEANING)]),
        html.P(
            f"{two.own.words.source.capitalize()}; {_sentences(two)}; in %, differences in points.", className="caption"
        ),
        scrolling(
            html.Table([heading(titles, numbers), html.Tbody(rows)], className="rows"), "Relations gained and lost"
        ),
    ]


def _sentences(two: ModelPair) -> str:
    if two.own.n_sentences == two.other.n_sentences:
        return many(two.sentences, "sentence")
    return f"the first {many(two.sentences, 'sentence')}, of which both models have vectors"


def changed_relations(two: ModelPair) -> list[RelationChange]:
    """The relations of two models of one corpus, the largest difference first. NotIngested where one has none."""
    return cached_result(two, "relations", partial(_changed_relations, two))


def _changed_relations(two: ModelPair) -> list[RelationChange]:
    theirs = {best.relation: best for best in best_of(two.other)}
    counts = draw_counts(SEED, 0, two.sentences)
    changes = [
        _change(two, best, theirs[best.relation], counts) for best in best_of(two.own) if best.relation in theirs
    ]
    return sorted(changes, key=lambda change: -abs(np.nan_to_num(change.difference)))


def _change(two: ModelPair, best: BestHead, theirs: BestHead, counts: NDArray[np.float64]) -> RelationChange:
    (hits, sentence), (other_hits, _) = _common_links(two, two.own, best), _common_links(two, two.other, theirs)
    replicates = ShareReplicates(())
    replicates.add(other_hits.astype(np.int8) - hits.astype(np.int8), sentence, counts)
    low, high = map(float, replicates.interval())
    own, other = (float(of_model.mean()) if len(of_model) else np.nan for of_model in (hits, other_hits))
    return RelationChange(best, theirs, own, other, (low, high))


def _common_links(two: ModelPair, corpus: Corpus, best: BestHead) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """`links_of_pairs` in the sentences of which both models have vectors: the first of the corpus."""
    hits, sentence = links_of_pairs(corpus, best)
    common = sentence < two.sentences
    return hits[common], sentence[common]


def _row(state: LinkState, two: ModelPair, change: RelationChange) -> list[html.Td]:
    low, high = change.interval
    state = state.on("relations")
    links = [
        dcc.Link(
            head_name(best.layer, best.head),
            href=state.with_(model=corpus.name, relation=best.relation, direction=best.direction, examples="best").href,
        )
        for corpus, best in ((two.own, change.own), (two.other, change.other))
    ]
    between = f"{signed(100 * low, 1)} to {signed(100 * high, 1)}" if low == low else ""
    own, other = (
        f"{100 * share:.1f}" if share == share else "" for share in (change.own_accuracy, change.other_accuracy)
    )
    return [
        html.Td([html.Bdi(change.own.relation), in_brackets(change.own.relation)]),
        html.Td(links[0]),
        html.Td(own, className="number"),
        html.Td(links[1]),
        html.Td(other, className="number"),
        html.Td(signed(100 * change.difference, 1) if between else "", className="number"),
        html.Td(between, className="number"),
    ]
