"""Best heads by silver annotation beside best heads by gold."""

import numpy as np
import pytest
import xarray as xr

from store.kernels.relations import DIRECTIONS
from store.schema.corpus import ALL, HALVES
from tests.published.relation_tables import Cell
from tests.published.silver import Agreement, agreements, cells, main, summary

DET = Agreement("det", (200, 150), (Cell("forward", 0, 1), Cell("forward", 0, 1)), (0.9, 0.8), True)
OBJ = Agreement("dobj", (200, 150), (Cell("forward", 0, 1), Cell("backward", 0, 0)), (0.5, 0.7), True)


def relations(pairs: dict[str, int], best: int) -> xr.Dataset:
    """Relations of one layer with two heads; head `best` is the best at all relations on the first half."""
    dims = ("relation", "direction", "layer", "head")
    chosen = np.zeros((len(pairs), len(DIRECTIONS), 1, 2))
    chosen[:, 0, :, best] = 0.9
    reported = np.full(chosen.shape, [0.6, 0.8])
    return xr.Dataset(
        {
            "pairs": (("half", "relation"), [[count // 2 for count in pairs.values()]] * 2),
            "chosen_accuracy": (dims, chosen),
            "reported_accuracy": (dims, reported),
        },
        {"relation": list(pairs), "direction": list(DIRECTIONS), "half": list(HALVES), "layer": [0], "head": [0, 1]},
    )


def test_relations_that_both_have_often_are_compared() -> None:
    gold = relations({ALL: 900, "det": 300, "nn": 300, "dobj": 98, "prep": 300}, 0)
    silver = relations({ALL: 900, "prep": 98, "det": 300, "compound": 300, "dobj": 300}, 0)
    assert [row.relation for row in agreements(gold, silver)] == ["det"]


def test_the_head_is_that_of_gold_and_the_accuracy_of_both() -> None:
    [row] = agreements(relations({"det": 300}, 1), relations({"det": 200}, 0))
    assert row == Agreement("det", (300, 200), (Cell("forward", 0, 1), Cell("forward", 0, 0)), (0.8, 0.8), True)


def test_the_summary_counts_the_same_head_in_the_same_direction() -> None:
    assert summary([DET, OBJ]) == (
        "The best head is the same in 1 of 2 relations, by the two halves of gold in 2. The accuracy of gold's head differs by 0.150 on average."
    )


def test_the_halves_of_gold_may_choose_different_heads() -> None:
    [row] = agreements(relations({"det": 300}, 0), relations({"det": 200}, 0))
    assert (row.same, row.repeated) == (True, False)


def test_nothing_in_common_is_said() -> None:
    assert summary([]) == "No relation has 100 pairs in both."


def test_a_line_names_both_heads() -> None:
    assert cells(OBJ) == ["dobj", "200, 150", "L0 H1 forward", "L0 H0 backward", "0.500", "0.700"]


def test_a_treebank_that_is_not_there_is_one_sentence_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data=nowhere.conllu"]) == 2
    assert capsys.readouterr().err.startswith("Silver and gold were not compared. ")
