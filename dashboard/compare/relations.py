"""Relations that a model links better or worse than another: the best head of each in both models."""

from dataclasses import dataclass

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.compare.names import lettered
from dashboard.compare.two_models import ModelPair
from dashboard.relations.data import BestHead, best_of, links_of_pairs
from dashboard.ui.controls import info
from dashboard.ui.tables import heading, scrolling
from dashboard.ui.text import in_brackets, signed
from dashboard.web.cache import cached
from dashboard.web.context import Context
from store import Corpus
from store.kernels.bootstrap import ShareReplicates, draw_counts
from store.repository.errors import NotIngested
from store.schema.model import head_name

_MEANING = (
    "Accuracy of the best head of each model at a relation, each chosen on one half of the sentences, and their difference (B - A) on the "
    "other half, with a 95% interval by bootstrap over the same sentences of both."
)


@dataclass(frozen=True)
class RelationChange:
    """The best heads of two models at a relation, and the difference of their accuracies, other less own."""

    own: BestHead
    other: BestHead
    difference: float
    interval: tuple[float, float]


def relations_of_both(context: Context, two: ModelPair) -> list[object]:
    """The table of relations, the largest change first; nothing where a model has no relations."""
    try:
        changes = changed_relations(two.own, two.other)
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
    rows = [html.Tr(_row(context, two, change)) for change in changes]
    return [
        html.H2(["Relations gained and lost", info("relations of both models", _MEANING)]),
        html.P(f"{two.own.words.source.capitalize()}; in %, differences in points.", className="caption"),
        scrolling(
            html.Table([heading(titles, numbers), html.Tbody(rows)], className="rows"), "Relations gained and lost"
        ),
    ]


@cached
def changed_relations(own: Corpus, other: Corpus) -> list[RelationChange]:
    """The relations of two models of one corpus, the largest difference first. NotIngested where one has none."""
    theirs = {best.relation: best for best in best_of(other)}
    seed = int(own.attributes["provenance"]["settings"]["seed"])
    counts = draw_counts(seed, 0, own.n_sentences)
    changes = [
        _change(own, other, best, theirs[best.relation], counts) for best in best_of(own) if best.relation in theirs
    ]
    return sorted(changes, key=lambda change: -abs(change.difference))


def _change(
    own: Corpus, other: Corpus, best: BestHead, theirs: BestHead, counts: NDArray[np.float64]
) -> RelationChange:
    (hits, sentence), (other_hits, _) = links_of_pairs(own, best), links_of_pairs(other, theirs)
    change = other_hits.astype(np.int8) - hits.astype(np.int8)
    replicates = ShareReplicates(())
    replicates.add(change, sentence, counts)
    low, high = map(float, replicates.interval())
    return RelationChange(best, theirs, float(change.mean()) if len(change) else np.nan, (low, high))


def _row(context: Context, two: ModelPair, change: RelationChange) -> list[html.Td]:
    low, high = change.interval
    state = context.state.on("relations")
    links = [
        dcc.Link(
            head_name(best.layer, best.head),
            href=state.with_(model=corpus.name, relation=best.relation, direction=best.direction, examples="best").href,
        )
        for corpus, best in ((two.own, change.own), (two.other, change.other))
    ]
    between = f"{signed(100 * low, 1)} to {signed(100 * high, 1)}" if low == low else ""
    return [
        html.Td(f"{change.own.relation}{in_brackets(change.own.relation)}"),
        html.Td(links[0]),
        html.Td(f"{100 * change.own.accuracy:.1f}", className="number"),
        html.Td(links[1]),
        html.Td(f"{100 * change.other.accuracy:.1f}", className="number"),
        html.Td(signed(100 * change.difference, 1), className="number"),
        html.Td(between, className="number"),
    ]
