"""Tables of relations beside published numbers, as far as tests can go without the published model."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import store
from dashboard.relations.data import BestHead
from store.kernels.relations import DIRECTIONS, frequent_offset
from store.results import best_heads
from store.schema.corpus import ALL, BASELINES, CANDIDATES, DECODINGS, MENTION_KINDS, METHODS
from tests.published.__main__ import AGREES, DIFFERS, NOT_CHECKED, Flags, check_relations
from tests.published.relation_tables import (
    Cell,
    best_cell,
    best_heads_of,
    clearest,
    compare,
    compare_antecedents,
    compared_cells,
    reported_head,
    targets_of,
)
from tests.published.targets import (
    CLARK,
    COREFERENCE_HEAD,
    EWT,
    TABLE_2,
    HeadTarget,
    RelationTargets,
    ShareTarget,
)
from tests.treebanks import write_treebank

ROW = BestHead("det", "forward", 0, 1, 0.9, (0.8, 1.0), 1, 0.5, 0.6, 120)
ROWS = [replace(ROW, relation=ALL, accuracy=0.4), ROW]
TARGETS = RelationTargets(
    "a paper",
    label="det",
    heads={"det": HeadTarget(0, 1, "forward", 0.8)},
    uas={"attention": ShareTarget(0.6, 0.05), "attention_and_words": ShareTarget(0.77, None)},
    best_head_of_all=ShareTarget(0.42, 0.05),
)


@pytest.fixture(scope="module")
def corpus(bank_store: str) -> store.Corpus:
    return store.open_corpus(bank_store)


@pytest.fixture(scope="module")
def second(ingest: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> store.Corpus:
    """A corpus of other sentences from the same kind of treebank."""
    folder = tmp_path_factory.mktemp("second")
    bank = write_treebank(folder / "second.conllu", seed=1)
    return store.open_corpus(ingest(folder / "store", data=bank, annotate="auto", probes="none"))


def relations(accuracy: float) -> xr.Dataset:
    cells = np.full((1, len(DIRECTIONS), 1, 2), accuracy)
    coordinates = {"relation": ["det"], "direction": list(DIRECTIONS), "layer": [0], "head": [0, 1]}
    return xr.Dataset({"accuracy": (("relation", "direction", "layer", "head"), cells)}, coordinates)


def uas(share: float) -> xr.Dataset:
    cells = np.full((len(METHODS), len(DECODINGS)), share)
    return xr.Dataset(
        {"uas": (("approach", "decoding"), cells)}, {"approach": list(METHODS), "decoding": list(DECODINGS)}
    )


def verdicts(accuracy: float, share: float) -> dict[str, str]:
    compared = compare(TARGETS, ROWS, relations(accuracy), uas(share))
    return {cells[0]: cells[-1] for cells in map(compared_cells, compared)}


def test_numbers_near_the_published_ones_agree() -> None:
    assert verdicts(0.7, 0.63) == {
        "det": "agrees",
        "best head, all relations": "agrees",
        METHODS["attention"]: "agrees",
        METHODS["attention_and_words"]: "other setting",
    }


def test_numbers_far_from_the_published_ones_differ() -> None:
    found = verdicts(0.5, 0.5)
    assert (found["det"], found[METHODS["attention"]]) == ("DIFFERS", "DIFFERS")


def test_a_published_head_without_accuracy_has_to_be_the_best() -> None:
    targets = replace(TARGETS, heads={"det": HeadTarget(0, 0, "forward")})
    assert compare(targets, ROWS, relations(0.9), None)[0].agrees is False


def test_a_relation_with_few_pairs_is_not_compared() -> None:
    rows = [ROWS[0], replace(ROW, pairs=99)]
    assert [each.title for each in compare(TARGETS, rows, relations(0.8), None)] == ["best head, all relations"]


@pytest.mark.parametrize(
    ("labels", "targets"), [(["nsubj", "pobj"], CLARK), (["nsubj", "obj"], EWT), (["suj", "mod"], None)]
)
def test_labels_tell_what_they_are_compared_with(labels: list[str], targets: RelationTargets | None) -> None:
    assert targets_of(labels) == targets


def test_the_clearest_relations_are_furthest_above_the_best_offset() -> None:
    rows = [replace(ROW, relation=str(gain), accuracy=0.5 + gain / 100) for gain in range(12)]
    few = replace(ROW, relation="few", accuracy=1.0, pairs=99)
    names = [row.relation for row in clearest([ROWS[0], few, *rows])]
    assert names == [ALL, *(str(gain) for gain in range(11, 1, -1))]


def test_the_best_cell_is_that_of_the_largest_number() -> None:
    accuracy = relations(0.1).accuracy[0].copy()
    accuracy.loc[{"direction": "received", "layer": 0, "head": 1}] = 0.2
    assert best_cell(accuracy) == Cell("received", 0, 1)


def test_a_corpus_alone_reports_its_second_half(corpus: store.Corpus) -> None:
    best = best_heads(corpus.relations).sel(relation="det")
    [row] = [row for row in best_heads_of(corpus, None) if row.relation == "det"]
    assert (row.accuracy, row.pairs) == (float(best.accuracy), int(corpus.relations.pairs.sel(relation="det")[1]))


def test_a_head_is_chosen_on_one_corpus_and_reported_on_another(corpus: store.Corpus, second: store.Corpus) -> None:
    row = reported_head(corpus, second, "det")
    chosen = corpus.relations.sel(relation="det")
    assert float(chosen.accuracy.sel(direction=row.direction, layer=row.layer, head=row.head)) == chosen.accuracy.max()
    there = second.relations.sel(relation="det", direction=row.direction, layer=row.layer, head=row.head)
    assert row.accuracy == float(there.accuracy)
    assert row.interval[0] <= row.accuracy <= row.interval[1]


def test_the_offset_of_one_corpus_is_reported_on_another(corpus: store.Corpus, second: store.Corpus) -> None:
    row, pairs = reported_head(corpus, second, "obj"), second.words.relations["obj"]
    assert row.offset == frequent_offset(corpus.words.relations["obj"].offsets)
    assert row.offset_accuracy == (pairs.offsets == row.offset).mean()


@pytest.mark.parametrize("choose", ["", "other.conllu"])
def test_relations_of_another_model_are_compared_with_nothing(
    choose: str, corpus: store.Corpus, second: store.Corpus, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = (second, corpus) if choose else (corpus, None)
    flags = Flags(model=str(tiny_model), data="bank.conllu", choose=choose)
    assert check_relations(flags, find=lambda *_: found, fewest=10) == NOT_CHECKED
    printed = capsys.readouterr().out
    assert "tiny-bert is not bert-base-uncased: these numbers are compared with nothing published." in printed
    assert all(title in printed for title in ("| det |", "| all |", METHODS["attention"]))
    assert "DIFFERS" not in printed


@pytest.mark.parametrize(("target", "status"), [(0, AGREES), (1, DIFFERS)])
def test_relations_of_the_published_model_are_compared(
    target: int, status: int, corpus: store.Corpus, tiny_model: Path
) -> None:
    cell = best_cell(corpus.relations.accuracy.sel(relation="det"))
    accuracy = float(corpus.relations.accuracy.sel({"relation": "det", **cell._asdict()}))
    heads = {"det": HeadTarget(cell.layer, cell.head, cell.direction, accuracy - target)}
    flags, targets = Flags(model=str(tiny_model), data="bank.conllu"), RelationTargets("a paper", "det", heads, {})
    found = check_relations(
        flags, find=lambda *_: (corpus, None), published=lambda _: True, targets=(targets,), fewest=10
    )
    assert found == status


def published_table() -> xr.Dataset:
    """Numbers of 12 x 12 heads that equal those of Clark's Table 2."""
    head, *baselines = TABLE_2.values()
    of_heads = np.zeros((2, len(CANDIDATES), 12, 12, len(MENTION_KINDS)))
    of_heads[:, 0, *COREFERENCE_HEAD] = head
    return xr.Dataset(
        {
            "accuracy": (("half", "candidates", "layer", "head", "kind"), of_heads),
            "baseline_accuracy": (("half", "baseline", "kind"), np.array([baselines, baselines])),
        },
        {"candidates": list(CANDIDATES), "baseline": list(BASELINES), "kind": list(MENTION_KINDS)},
    )


def test_the_numbers_of_table_2_agree_with_themselves() -> None:
    compared = compare_antecedents(published_table())
    assert len(compared) == len(TABLE_2) * len(MENTION_KINDS)
    assert all(each.agrees for each in compared)


def test_a_head_that_finds_fewer_antecedents_differs_from_table_2() -> None:
    table = published_table()
    compared = compare_antecedents(table.assign(accuracy=table.accuracy - 0.2))
    assert [each.title for each in compared if not each.agrees] == [f"head L4 H3, {kind}" for kind in MENTION_KINDS]


def test_coreference_is_printed_where_the_data_has_it(
    chains_store: str, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = store.open_corpus(chains_store)
    flags = Flags(model=str(tiny_model), data="chains.conll")
    assert check_relations(flags, find=lambda *_: (corpus, None)) == NOT_CHECKED
    assert "| nearest mention before it |" in capsys.readouterr().out
