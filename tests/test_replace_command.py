"""`headscape replace` and `headscape.replace`: heads of a store replaced over a sample of its sentences."""

import json

import numpy as np
import pytest

import headscape
from dashboard.sentence.replace import main
from store import Corpus, open_corpus
from store.replacement import ordered_heads
from store.repository.errors import StoreError


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> Corpus:
    return open_corpus(roles_store)


def test_the_command_says_what_changes(roles_store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([roles_store, "--share=0.25", "--instead=rule", "--sentences=3"]) == 0
    said, progress = capsys.readouterr()
    assert said.startswith("1 of 4 heads of ")
    assert "sentences: 3 of 3" in said
    assert "share of the distance between two sentences: " in said
    assert progress == ""


def test_the_command_prints_json(roles_store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"--store={roles_store}", "--heads=0-1,0-0", "--instead=mean", "--sentences=3", "--json"]) == 0
    named = json.loads(capsys.readouterr().out)
    assert named["attrs"]["heads"] == "0-1.0-0"
    assert named["data_vars"]["change"]["data"] > 0


def test_of_one_sentence_there_is_nothing_to_compare(roles_store: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [roles_store, "--heads=0-1", "--instead=even", "--sentences=1"]
    assert main(flags) == 0
    assert "nan" not in capsys.readouterr().out
    assert main([*flags, "--json"]) == 0
    written = capsys.readouterr().out
    assert "NaN" not in written
    assert json.loads(written)["data_vars"]["spearman"]["data"] is None


def test_a_notebook_gets_the_same_numbers(roles_store: str, corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    main([roles_store, "--heads=0-1", "--instead=even", "--sentences=3", "--json"])
    named = json.loads(capsys.readouterr().out)["data_vars"]
    found = headscape.replace(corpus, [(0, 1)], "even", sentences=3)
    assert float(found.change) == pytest.approx(named["change"]["data"])
    assert float(found.interval[0]) <= float(found.change) <= float(found.interval[1])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--heads=9-9"], "There is no head L9 H9. Choose one of L0 to L1 and H0 to H1."),
        (["--sentences=0"], "A sample of 0 sentences is too small. Give at least 1."),
        (["--order=unimportant"], "Head importance: not computed. Run `headscape ingest --importance=100`."),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    arguments: list[str], said: str, roles_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([roles_store, *arguments]) == 1
    assert capsys.readouterr().err == f"replace: {said}\n"


def test_a_store_without_rules_says_how_to_get_them(tiny_store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([tiny_store, "--heads=0-1"]) == 1
    assert capsys.readouterr().err == "replace: Rules and roles of heads: not computed. Run `headscape ingest`.\n"


@pytest.mark.parametrize("flag", ["--share=0", "--share=2", "--heads=all", "--instead=noise", "--seed=-1"])
def test_a_flag_that_cannot_be_is_refused(flag: str, roles_store: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main([roles_store, flag])
    assert ended.value.code == 2


def test_a_notebook_is_told_of_a_replacement_that_there_is_not(corpus: Corpus) -> None:
    with pytest.raises(StoreError, match=r"no replacement .noise.\. Choose one of: off, even, mean, rule\."):
        headscape.replace(corpus, [(0, 1)], "noise")  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="Give at least one"):
        headscape.replace(corpus, [])
    with pytest.raises(
        StoreError, match=r"^The sentences of a sample are a whole number, not 2\.5\. Give a number from"
    ):
        headscape.replace(corpus, [(0, 0)], "off", sentences=2.5)  # type: ignore[arg-type]


def test_heads_come_best_explained_first_or_drawn_by_a_seed(corpus: Corpus) -> None:
    iou = corpus.rules.iou.sel(rules="six").values
    assert np.diff([iou[head] for head in ordered_heads(corpus, "explained")]).max() <= 0
    assert ordered_heads(corpus, "random", 1) == ordered_heads(corpus, "random", 1)
    assert sorted(ordered_heads(corpus, "random", 1)) == sorted(ordered_heads(corpus, "explained"))
