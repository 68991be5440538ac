"""Tables of the clearest relations of a model and of governors from its attention, beside published numbers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

import store
from dashboard.relations.data import BestHead, best_of
from dashboard.relations.found_words import rows_of
from store.kernels.intervals import ShareReplicates, draw_counts
from store.kernels.relations import DIRECTIONS, StrongestWords, WordPairs, frequent_offset, linked
from store.schema.corpus import ALL, BASELINES, DECODINGS, GAP, MENTION_KINDS, METHODS
from tests.published.targets import (
    ACCURACY_TOLERANCE,
    COREFERENCE_HEAD,
    COREFERENCE_TOLERANCE,
    RELATIONS,
    TABLE_2,
    HeadTarget,
    RelationTargets,
    ShareTarget,
)

CLEAREST = 10
#: Fewest pairs of a relation in the tables, as fewer say little.
FEWEST_PAIRS = 100
HEAD_COLUMNS = ("relation", "pairs", "head", "direction", "accuracy", "95%", "best offset", "random weights")
UAS_COLUMNS = ("governors from attention", "each word", "95%", "spanning tree", "95%")
COMPARED_COLUMNS = ("", "published", "here", "")


class Cell(NamedTuple):
    """A head in a direction."""

    direction: str
    layer: int
    head: int


class Compared(NamedTuple):
    """A published number beside ours; `agrees` is None where the settings differ too much to tell."""

    title: str
    published: str
    here: str
    agrees: bool | None


# -- the best heads -------------------------------------------------------------------------------


def best_heads_of(chosen: store.Corpus, reported: store.Corpus | None) -> list[BestHead]:
    """The best head of every relation, chosen on one corpus and reported on another, or on the two halves of one."""
    if reported is None:
        return list(best_of(chosen))
    shared = [str(name) for name in reported.relations.relation.values if name in chosen.relations.relation.values]
    return [reported_head(chosen, reported, relation) for relation in shared]


def reported_head(chosen: store.Corpus, reported: store.Corpus, relation: str) -> BestHead:
    """The head that links most pairs in `chosen`, with its numbers in `reported`."""
    here, there = (corpus.relations.sel(relation=relation) for corpus in (chosen, reported))
    cell = best_cell(here.accuracy)
    pairs = pairs_of(reported, relation)
    offset = frequent_offset(pairs_of(chosen, relation).offsets)
    return BestHead(
        relation=relation,
        **cell._asdict(),
        accuracy=float(there.accuracy.sel(cell._asdict())),
        interval=interval_of(reported, pairs, cell),
        offset=offset,
        offset_accuracy=float((pairs.offsets == offset).mean()),
        random=float(there.random_accuracy.sel(best_cell(here.random_accuracy)._asdict())),
        pairs=int(there.pairs.sum()),
    )


def best_cell(accuracy: xr.DataArray) -> Cell:
    """The head with the largest accuracy of (direction, layer, head)."""
    values = accuracy.transpose(*Cell._fields).fillna(-1).values
    direction, layer, head = np.unravel_index(int(values.argmax()), values.shape)
    return Cell(list(DIRECTIONS)[direction], int(layer), int(head))


def pairs_of(corpus: store.Corpus, relation: str) -> WordPairs:
    """The pairs of a relation in all sentences."""
    return corpus.words.dependencies if relation == ALL else corpus.words.relations[relation]


def interval_of(corpus: store.Corpus, pairs: WordPairs, cell: Cell) -> tuple[float, float]:
    """95% interval of a head's accuracy, by bootstrap over the sentences of a corpus."""
    of_head = corpus.strongest_words.isel(layer=cell.layer, head=cell.head)
    strongest = StrongestWords(*(of_head[name].values for name in StrongestWords._fields))
    hits = linked(strongest, pairs)[list(DIRECTIONS).index(cell.direction)]
    replicates = ShareReplicates(())
    replicates.add(hits, pairs.sentence, draw_counts(0, 0, corpus.n_sentences))
    low, high = map(float, replicates.interval())
    return low, high


def clearest(rows: Sequence[BestHead], fewest: int = FEWEST_PAIRS) -> list[BestHead]:
    """The row of all relations together, then the relations that are furthest above their best offset."""
    frequent = [row for row in rows if row.relation != ALL and row.pairs >= fewest]
    ordered = sorted(frequent, key=lambda row: row.offset_accuracy - row.accuracy)
    return [row for row in rows if row.relation == ALL] + ordered[:CLEAREST]


def head_cells(row: BestHead) -> list[str]:
    """A line of the table of heads."""
    return [
        row.relation,
        f"{row.pairs:,}",
        f"L{row.layer} H{row.head}",
        row.direction,
        f"{row.accuracy:.3f}",
        _range(*row.interval),
        f"{row.offset_accuracy:.3f} ({row.offset:+d})",
        f"{row.random:.3f}",
    ]


def _range(low: float, high: float) -> str:
    return f"{low:.3f} to {high:.3f}"


# -- governors ------------------------------------------------------------------------------------


def uas_cells(uas: xr.Dataset) -> list[list[str]]:
    """Lines of the table of governors, one for each method."""
    return [[title, *_decodings(uas.sel(approach=method))] for method, title in METHODS.items()]


def _decodings(row: xr.Dataset) -> list[str]:
    cells = []
    for decoding in DECODINGS:
        cell = row.sel(decoding=decoding)
        known = bool(cell.uas.notnull())
        cells += [f"{float(cell.uas):.3f}", _range(*map(float, cell.interval))] if known else ["", ""]
    return cells


# -- beside published numbers ---------------------------------------------------------------------


def targets_of(relations: Sequence[str], known: Sequence[RelationTargets] = RELATIONS) -> RelationTargets | None:
    """The published numbers of treebanks with such labels; None without any."""
    return next((targets for targets in known if targets.label in relations), None)


def compare(
    targets: RelationTargets,
    rows: Sequence[BestHead],
    relations: xr.Dataset,
    uas: xr.Dataset | None,
    fewest: int = FEWEST_PAIRS,
) -> list[Compared]:
    """Published numbers beside ours, for relations with enough pairs here."""
    by_name = {row.relation: row for row in rows if row.pairs >= fewest or row.relation == ALL}
    heads = [
        compare_head(
            by_name[name], target, float(relations.accuracy.sel({"relation": name, **_place(target)._asdict()}))
        )
        for name, target in targets.heads.items()
        if name in by_name
    ]
    best = targets.best_head_of_all
    of_all = [] if best is None else [compare_share("best head, all relations", best, by_name[ALL].accuracy)]
    methods = {} if uas is None else targets.uas
    return [*heads, *of_all, *(compare_share(METHODS[name], methods[name], _each(uas, name)) for name in methods)]


def _place(target: HeadTarget) -> Cell:
    return Cell(target.direction, target.layer, target.head)


def _each(uas: xr.Dataset | None, method: str) -> float:
    return float(uas.uas.sel(approach=method, decoding="each")) if uas is not None else np.nan


def compare_head(row: BestHead, target: HeadTarget, accuracy: float) -> Compared:
    """The published head beside the best one here. They agree if its accuracy is near the published one or, without one, if it is best."""
    best = Cell(row.direction, row.layer, row.head)
    published, here = _named(_place(target)), f"{accuracy:.3f}; best {_named(best)} {row.accuracy:.3f}"
    if target.accuracy is None:
        return Compared(row.relation, published, here, best == _place(target))
    agrees = bool(np.abs(accuracy - target.accuracy) <= ACCURACY_TOLERANCE)
    return Compared(row.relation, f"{published} {target.accuracy:.3f}", here, agrees)


def _named(cell: Cell) -> str:
    return f"L{cell.layer} H{cell.head} {cell.direction}"


def compare_share(title: str, target: ShareTarget, share: float) -> Compared:
    """A published share beside ours."""
    agrees = None if target.tolerance is None else bool(np.abs(share - target.share) <= target.tolerance)
    return Compared(title, f"{target.share:.3f}", f"{share:.3f}", agrees)


def antecedent_cells(coreference: xr.Dataset) -> list[list[str]]:
    """Lines of the table of antecedents: accuracy with its interval by kind or gender; for GAP F1 too."""
    return [
        [row.title, *map(_share_cell, row.accuracy.values, row.low, row.high), *_f1_cells(row.f1)]
        for row in rows_of(coreference)
    ]


def _share_cell(share: float, low: float, high: float) -> str:
    return f"{share:.3f}" + (f" ({_range(low, high)})" if low == low else "")


def _f1_cells(f1: xr.DataArray | None) -> list[str]:
    return [] if f1 is None else [f"{share:.3f}" for share in f1.values]


def antecedent_columns(coreference: xr.Dataset) -> list[str]:
    """Titles of the columns of the table of antecedents."""
    gap = coreference.attrs["scheme"] == GAP
    groups = [str(name) for name in coreference["gender" if gap else "kind"].values]
    return ["antecedent", *groups, *(f"F1, {group}" for group in groups if gap)]


def compare_antecedents(coreference: xr.Dataset) -> list[Compared]:
    """Clark's Table 2 beside our numbers: the published head and the baselines, by kind of mention."""
    layer, head = COREFERENCE_HEAD
    of_head = coreference.accuracy.sel({"candidates": "mentions", "layer": layer, "head": head})
    here = {name: coreference.baseline_accuracy.sel(baseline=name) for name in BASELINES}
    return [
        compare_share(f"{name}, {kind}", ShareTarget(share, COREFERENCE_TOLERANCE), float(accuracy))
        for (name, published), ours in zip(TABLE_2.items(), (of_head, *here.values()), strict=True)
        for kind, share, accuracy in zip(MENTION_KINDS, published, ours.values[1], strict=True)
    ]


def compared_cells(compared: Compared) -> list[str]:
    """A line of the table of comparisons."""
    verdict = {True: "agrees", False: "DIFFERS", None: "other setting"}[compared.agrees]
    return [*compared[:3], verdict]
