"""`python -m tests.published.silver --data=TREEBANK [--model=MODEL --sentences=N]`: the best heads that silver annotation
finds on the text of a treebank, beside the best heads by its gold annotation.

Both need the same labels: the packaged English pipeline has nearly the old Stanford dependencies.
"""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import xarray as xr

import store
from ingest.run.errors import IngestError
from ingest.run.settings import NONE, parse_flags
from store.schema.corpus import ALL
from tests.bench.table import show
from tests.published.ingested import Ingested, ingested
from tests.published.relation_tables import FEWEST_PAIRS, Cell, best_cell

COLUMNS = ("relation", "pairs: gold, silver", "best head: gold", "silver", "accuracy of gold's head: gold", "silver")


@dataclass(frozen=True)
class Agreement:
    """A relation by gold and by silver annotation.

    Attributes
    ----------
    pairs
        Pairs in all sentences.
    best
        Head that is chosen on one half.
    accuracy
        Accuracy of gold's head on the other half.
    repeated
        Whether the other half of gold chooses the same head: no annotation can do better.
    """

    relation: str
    pairs: tuple[int, int]
    best: tuple[Cell, Cell]
    accuracy: tuple[float, float]
    repeated: bool

    @property
    def same(self) -> bool:
        """Whether both choose one head in one direction."""
        return self.best[0] == self.best[1]


def main(arguments: Sequence[str]) -> int:
    """Run the comparison; returns 0, or 2 where nothing can be ingested, which one sentence says."""
    try:
        flags = parse_flags(Ingested, arguments, command="python -m tests.published.silver", description=__doc__)
        with tempfile.TemporaryDirectory() as folder:
            show_agreement(*both_corpora(flags, Path(folder)))
    except IngestError as error:
        print(f"Silver and gold were not compared. {error}", file=sys.stderr)
        return 2
    return 0


def both_corpora(flags: Ingested, folder: Path) -> tuple[store.Corpus, store.Corpus]:
    """Corpora of the treebank, and of its texts, one a line, without gold annotation."""
    gold = ingested(folder, flags, probes=NONE)
    texts = folder / "texts.txt"
    texts.write_text("\n".join(map(str, gold.sentences.text.values)), "utf-8")
    # A text may be split into several sentences, so allow more sentences than the treebank has.
    every = replace(flags, sentences=10 * gold.n_sentences)
    return gold, ingested(folder, every, data=str(texts), probes=NONE)


def show_agreement(gold: store.Corpus, silver: store.Corpus) -> None:
    """Print the relations that both have, and how far they agree."""
    rows = agreements(gold.relations, silver.relations)
    sentences = f"{gold.n_sentences:,} sentences, {silver.n_sentences:,} as silver splits them"
    title = f"Silver beside gold: {gold.attributes['model_id']} on {gold.corpus_attributes['name']}, {sentences}"
    show(title, COLUMNS, list(map(cells, rows)))
    print(f"\n{summary(rows)}")


def agreements(gold: xr.Dataset, silver: xr.Dataset) -> list[Agreement]:
    """The relations that both have with enough pairs, in the order of gold; both are `Corpus.relations`."""
    enough = [_frequent(relations) for relations in (gold, silver)]
    return [_agreement(name, gold, silver) for name in enough[0] if name in enough[1] and name != ALL]


def _frequent(relations: xr.Dataset) -> list[str]:
    return [str(name) for name in relations.relation.values[relations.pairs.sum("half").values >= FEWEST_PAIRS]]


def _agreement(name: str, gold: xr.Dataset, silver: xr.Dataset) -> Agreement:
    rows = [relations.sel(relation=name) for relations in (gold, silver)]
    first, second = (best_cell(row.chosen_accuracy) for row in rows)
    accuracy, again = (float(row.reported_accuracy.sel(first._asdict())) for row in rows)
    pairs, others = (int(row.pairs.sum()) for row in rows)
    repeated = first == best_cell(rows[0].reported_accuracy)
    return Agreement(name, (pairs, others), (first, second), (accuracy, again), repeated)


def summary(rows: Sequence[Agreement]) -> str:
    """How often both choose the same head, and how far apart the accuracies of gold's heads are."""
    if not rows:
        return f"No relation has {FEWEST_PAIRS} pairs in both."
    same = sum(row.same for row in rows)
    apart = float(np.mean([abs(row.accuracy[0] - row.accuracy[1]) for row in rows]))
    return (
        f"The best head is the same in {same} of {len(rows)} relations, "
        f"by the two halves of gold in {sum(row.repeated for row in rows)}. "
        f"The accuracy of gold's head differs by {apart:.3f} on average."
    )


def cells(row: Agreement) -> list[str]:
    """A line of the table."""
    named = [f"L{cell.layer} H{cell.head} {cell.direction}" for cell in row.best]
    return [row.relation, "{:,}, {:,}".format(*row.pairs), *named, *(f"{share:.3f}" for share in row.accuracy)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
