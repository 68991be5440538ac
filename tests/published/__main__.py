"""`python -m tests.published [--model=MODEL] [--data=TREEBANK] [--choose=TREEBANK]`: bert-base-uncased beside the published
numbers, and its roles beside the labels that people gave its heads; exit status 0 where they agree, 1 where they do not, 2 where
nothing was compared.

With data, the relations of any model are printed; those of another model are compared with nothing. The classifier of GlobEnc's table
is compared with that table.
"""

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

import store
from dashboard.relations.data import BestHead
from ingest.encode.hooked_model import HookedModel
from ingest.encode.loading import find_device
from ingest.run.checkpoint import Checkpoint, find_checkpoint
from ingest.run.errors import IngestError
from ingest.run.settings import EMBEDDED, NONE, parse_flags, setting
from ingest.text.reviews import find_data, read_reviews
from ingest.text.tokenizer import Tokenizer
from store.schema.corpus import CHAINS
from tests.bench.table import show
from tests.published import relation_tables
from tests.published.curves import agrees, head_statistics, heads_above, layer_curves, table_rows
from tests.published.ingested import Ingested, ingested, uas_of
from tests.published.named_heads import KNOWN, Labels, read_labels, show_named
from tests.published.saliency import CLASSIFIER, check_saliency
from tests.published.segments import TOKENS, review_segments
from tests.published.targets import (
    CURVES,
    EXPANSION_RATE,
    HEADS,
    LAYERS,
    RELATIONS,
    UNIFORM_ENTROPY,
    RelationTargets,
    Target,
)

MODEL = "bert-base-uncased"
#: Segments of text, as many as Clark et al. had.
SEGMENTS = 992
AGREES, DIFFERS, NOT_CHECKED = 0, 1, 2


@dataclass(frozen=True)
class Flags(Ingested):
    """Flags of the comparison."""

    model: str = setting(MODEL, "hub name or local folder of a BERT checkpoint")
    choose: str = setting(
        "", "treebank on which heads are chosen; every other sentence of the data where none is given"
    )
    labels: str = setting(
        "",
        "CSV file with layer, head and label of heads, counted from 0; the eight of the previous token where none is given",
    )


#: Makes the corpora of a command in a folder: the corpus of the data, or the corpus on which heads are chosen and that of the data.
FindCorpora = Callable[[Flags, Path], tuple[store.Corpus, store.Corpus | None]]


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns its exit status. One sentence says so where the model cannot be had."""
    try:
        flags = parse_flags(Flags, arguments, command="python -m tests.published", description=__doc__)
        if flags.data:
            return check_relations(flags)
        if flags.model == CLASSIFIER:
            return AGREES if check_saliency(find_checkpoint(flags.model)) else DIFFERS
        labels = read_labels(Path(flags.labels)) if flags.labels else KNOWN
        status = check(comparable_checkpoint(flags.model))
        return check_roles(flags, labels) if status == AGREES else status
    except IngestError as error:
        print(f"The published numbers were not checked. {error}", file=sys.stderr)
        return NOT_CHECKED


def comparable_checkpoint(model: str) -> Checkpoint:
    """The checkpoint of a model; IngestError where its shape is not the published one."""
    checkpoint = find_checkpoint(model)
    if _shape(checkpoint) != (LAYERS, HEADS):
        layers, heads = _shape(checkpoint)
        raise IngestError(
            f"They are of {MODEL} with {LAYERS} layers x {HEADS} heads, {checkpoint.name} has {layers} x {heads}. "
            f"Give MODEL={MODEL} or a folder with it."
        )
    return checkpoint


def _shape(checkpoint: Checkpoint) -> tuple[int, int]:
    layers, heads = (int(checkpoint.config.get(name, 0)) for name in ("num_hidden_layers", "num_attention_heads"))
    return layers, heads


def check(checkpoint: Checkpoint, *, segments: int = SEGMENTS) -> int:
    """Compute the numbers of both papers, and compare them."""
    bert = HookedModel(checkpoint, device=find_device("auto"), dtype=torch.float32)
    reviews = read_reviews(find_data(EMBEDDED), text="text", label="label")
    tokenizer = Tokenizer(checkpoint.folder, max_length=int(checkpoint.config["max_position_embeddings"]))
    blocks = review_segments(reviews, tokenizer, count=segments, seed=0)
    statistics = head_statistics(bert, blocks)
    rates, curves = np.array(bert.expansion_rates()), layer_curves(statistics)
    return compare(checkpoint.name, rates, statistics, curves, sum(block.sentences for block in blocks))


def check_roles(flags: Flags, labels: Labels) -> int:
    """Compute the roles of the published model on reviews, and compare them with people's labels of its heads."""
    with tempfile.TemporaryDirectory() as folder:
        rows = show_named(ingested(Path(folder), flags, data=EMBEDDED), labels)
    return DIFFERS if any(row.agrees is False for row in rows) else AGREES


def compare(
    name: str,
    expansion_rates: NDArray[np.float64],
    statistics: NDArray[np.float64],
    curves: dict[str, NDArray[np.float64]],
    segments: int,
) -> int:
    """Print the tables of both papers; returns the exit status."""
    rates = {"expansion_rate": expansion_rates}
    print(f"Expansion rates of {name}; layers are numbered from 1 as in the papers.")
    _show("Kobayashi et al. 2021", {"expansion_rate": EXPANSION_RATE}, rates)
    _show_clark(statistics, curves, segments)
    same = agrees({"expansion_rate": EXPANSION_RATE}, rates) and agrees(CURVES, curves)
    return AGREES if same else DIFFERS


def corpora(flags: Flags, folder: Path) -> tuple[store.Corpus, store.Corpus | None]:
    """The corpus of the data and None, or the corpus on which heads are chosen and that of the data."""
    if not flags.choose:
        return ingested(folder, flags), None
    return ingested(folder, flags, data=flags.choose, probes=NONE), ingested(folder, flags)


def is_published(checkpoint: Checkpoint) -> bool:
    """Whether the weights are those of the papers: expansion rates follow from them alone."""
    if _shape(checkpoint) != (LAYERS, HEADS):
        return False
    bert = HookedModel(checkpoint, device=find_device("auto"), dtype=torch.float32)
    return agrees({"": EXPANSION_RATE}, {"": np.array(bert.expansion_rates())})


def check_relations(
    flags: Flags,
    *,
    find: FindCorpora = corpora,
    published: Callable[[Checkpoint], bool] = is_published,
    targets: Sequence[RelationTargets] = RELATIONS,
    fewest: int = relation_tables.FEWEST_PAIRS,
) -> int:
    """Print the tables of a model's relations, and compare them where the model is the published one.

    Relations of fewer than `fewest` pairs are left out.
    """
    checkpoint = find_checkpoint(flags.model)
    with tempfile.TemporaryDirectory() as folder:
        first, second = find(flags, Path(folder))
        rows = relation_tables.best_heads_of(first, second)
        show_relations(first, second, rows, fewest)
        show_coreference(second or first)
        if not published(checkpoint):
            print(f"\n{checkpoint.name} is not {MODEL}: these numbers are compared with nothing published.")
            return NOT_CHECKED
        return compare_relations(second or first, rows, targets, fewest)


def show_relations(first: store.Corpus, second: store.Corpus | None, rows: Sequence[BestHead], fewest: int) -> None:
    """Print the clearest relations, and governors from attention."""
    reported = second or first
    name, model = reported.corpus_attributes["name"], reported.attributes["model_id"]
    chosen = (
        f"chosen on {first.n_sentences:,} sentences of {first.corpus_attributes['name']}" if second else "by halves"
    )
    title = f"Relations: {model} on {reported.n_sentences:,} sentences of {name}, {chosen}, {reported.words.source}"
    show(
        title,
        relation_tables.HEAD_COLUMNS,
        list(map(relation_tables.head_cells, relation_tables.clearest(rows, fewest))),
    )
    uas = uas_of(reported)
    if uas is not None:
        words = f"{uas.attrs['words']:,} words in {uas.attrs['reported_on']:,} held-out sentences of {name}"
        trained = f"{uas.attrs['trained_on']:,} to train on"
        show(f"UAS: {model}, {words}, {trained}", relation_tables.UAS_COLUMNS, relation_tables.uas_cells(uas))


def show_coreference(corpus: store.Corpus) -> None:
    """Print antecedents that heads find, where the data has coreference."""
    if corpus.words.mentions:
        title = f"Coreference: {corpus.attributes['model_id']}, {corpus.corpus_attributes['name']}, gold; {corpus.words.source}"
        coreference = corpus.coreference
        columns = relation_tables.antecedent_columns(coreference)
        show(title, columns, relation_tables.antecedent_cells(coreference))


def compare_relations(
    corpus: store.Corpus, rows: Sequence[BestHead], known: Sequence[RelationTargets], fewest: int
) -> int:
    """Print published numbers beside the numbers of the reported sentences; returns the exit status."""
    if corpus.words.mentions and corpus.words.mentions.scheme == CHAINS:
        return compare_coreference(corpus)
    targets = relation_tables.targets_of([row.relation for row in rows], known)
    if targets is None or corpus.words.kind != "gold":
        print("\nNothing was published of these labels.")
        return NOT_CHECKED
    compared = relation_tables.compare(targets, rows, corpus.relations, uas_of(corpus), fewest)
    lines = list(map(relation_tables.compared_cells, compared))
    show(f"{targets.title}; here {corpus.corpus_attributes['name']}", relation_tables.COMPARED_COLUMNS, lines)
    return DIFFERS if any(each.agrees is False for each in compared) else AGREES


def compare_coreference(corpus: store.Corpus) -> int:
    """Print Clark's Table 2 beside the numbers of the reported passages; returns the exit status."""
    compared = relation_tables.compare_antecedents(corpus.coreference)
    lines = list(map(relation_tables.compared_cells, compared))
    title = f"Clark et al. 2019, Table 2; here {corpus.corpus_attributes['name']}"
    show(title, relation_tables.COMPARED_COLUMNS, lines)
    return DIFFERS if any(each.agrees is False for each in compared) else AGREES


def _show_clark(statistics: NDArray[np.float64], curves: dict[str, NDArray[np.float64]], segments: int) -> None:
    _show(
        f"Clark et al. 2019: {segments:,} pairs of {TOKENS} wordpieces from reviews; theirs Wikipedia", CURVES, curves
    )
    print(f"\nUniform entropy: {np.log(TOKENS):.2f} here, {UNIFORM_ENTROPY} published.")
    for statistic, token, published in (("to_next", "next", "5 (3 in the figure)"), ("to_previous", "previous", "4")):
        names = heads_above(statistics, statistic, 0.5)
        print(f"Heads above 0.5 to the {token} token: {len(names)} here ({', '.join(names)}), {published} published.")


def _show(title: str, targets: dict[str, Target], curves: dict[str, NDArray[np.float64]]) -> None:
    rows = [row for name, target in targets.items() for row in table_rows(target, curves[name])]
    show(title, ("", "", *map(str, range(1, LAYERS + 1)), ""), rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
