"""Relations of a store against code of their own in float64, and that code on sentences with known answers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import store
from ingest.text.annotation import read_treebank
from ingest.words.trees import ROOT_COLUMN, best_tree
from tests.published.reference import (
    ROOT,
    UNKNOWN,
    BankWord,
    ReferenceSentence,
    head_uas,
    link_counts,
    of_words,
    offset_counts,
    read_bank,
    tree_governors,
)
from tests.published.relations import AGREES, NOT_CHECKED, compare, lost_weight, main, reference_sentences

MULTIWORD = """# text = Don't watch the film.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\twatch\twatch\tVERB\tVB\t_\t0\troot\t_\t_
4\tthe\tthe\tDET\tDT\t_\t5\tdet\t_\t_
5\tfilm\tfilm\tNOUN\tNN\t_\t3\tobj\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_
"""


@pytest.fixture(scope="module")
def corpus(bank_store: str) -> store.Corpus:
    return store.open_corpus(bank_store)


@pytest.fixture(scope="module")
def sentences(corpus: store.Corpus, tiny_model: Path) -> list[ReferenceSentence]:
    data = Path(corpus.attributes["provenance"]["data"]["place"])
    return reference_sentences(corpus, data, tiny_model)


def differing(corpus: store.Corpus, sentences: list[ReferenceSentence]) -> set[str]:
    """The first word in the title of every row that differs."""
    return {row.title.split()[0] for row in compare(corpus, sentences) if not row.agrees}


def test_every_number_of_a_store_is_that_of_eager_attentions(
    corpus: store.Corpus, sentences: list[ReferenceSentence]
) -> None:
    rows = compare(corpus, sentences)
    assert [row for row in rows if not row.agrees] == []
    assert {"det: forward,", "obj: received,", "UAS of"} <= {" ".join(row.title.split()[:2]) for row in rows}


def test_other_attention_is_told(corpus: store.Corpus, sentences: list[ReferenceSentence]) -> None:
    turned = [replace(each, pattern=each.pattern.swapaxes(-1, -2)) for each in sentences]
    assert "attention" in differing(corpus, turned)


def test_other_grammar_is_told(corpus: store.Corpus, sentences: list[ReferenceSentence]) -> None:
    renamed = [
        replace(each, relation=["det" if name == "obj" else name for name in each.relation]) for each in sentences
    ]
    assert {"det:", "obj:"} <= differing(corpus, renamed)


@pytest.mark.heavy
def test_made_up_sentences_agree_from_the_ingest_on(tiny_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"--model={tiny_model}", "--sentences=10"]) == AGREES
    printed = capsys.readouterr().out
    assert "### Relations: tiny-bert on 10 sentences" in printed
    assert "strongest words" in printed


def test_a_treebank_that_is_not_there_is_one_sentence_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data=nowhere.conllu"]) == NOT_CHECKED
    assert capsys.readouterr().err.startswith("The relations were not checked. ")


def test_the_reference_reads_a_treebank_as_the_ingest_does(tmp_path: Path) -> None:
    bank = tmp_path / "bank.conllu"
    bank.write_text(MULTIWORD, "utf-8")
    [(text, annotation)] = read_treebank(MULTIWORD.splitlines(keepends=True), "bank")
    fields = zip(annotation.start, annotation.stop, annotation.governor, annotation.relation, strict=True)
    assert read_bank(bank) == {text: [BankWord(*word) for word in fields]}


def test_attention_to_a_word_is_summed_and_from_it_averaged() -> None:
    pattern = np.array([[[[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.5, 0.1, 0.4]]]])
    words = [BankWord(0, 1, 1, "det"), BankWord(2, 3, ROOT, "root")]
    np.testing.assert_allclose(of_words(pattern, [[0, 1], [2]], words).pattern[0, 0], [[0.45, 0.55], [0.6, 0.4]])


def test_a_governor_that_was_cut_off_is_unknown() -> None:
    words = [BankWord(0, 1, 1, "det"), BankWord(2, 3, ROOT, "root")]
    assert of_words(np.ones((1, 1, 2, 2)), [[0, 1], []], words).governor == [UNKNOWN]


def of_one_head(rows: list[list[float]], governor: list[int], relation: list[str]) -> ReferenceSentence:
    return ReferenceSentence(np.array([[rows]]), governor, relation)


FILM = of_one_head([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1]], [1, 2, ROOT], ["det", "obj", "root"])


def test_links_by_hand() -> None:
    count, links = link_counts([FILM])
    assert count == {"det": 1, "obj": 1}
    assert links["det"].ravel().tolist() == [0, 1, 1]
    assert links["obj"].ravel().tolist() == [0, 1, 1]


def test_offsets_by_hand() -> None:
    assert offset_counts([FILM]) == {"det": {1: 1}, "obj": {1: 1}}


def test_governors_of_the_best_head_by_hand() -> None:
    assert head_uas([FILM, FILM]) == {"each": pytest.approx(2 / 3), "tree": pytest.approx(1 / 3)}


def test_what_a_word_loses_by_hand() -> None:
    weights = np.array([[[[-1, 0.2, 0.7], [0.6, -1, 0.1], [0.2, 0.7, -1]]]])
    np.testing.assert_allclose(lost_weight(weights, np.array([[[1, 0, 1]]])), [[[0.5, 0, 0]]])


@given(words=st.integers(2, 8), seed=st.integers(0, 999))
def test_both_spanning_trees_have_the_same_score(words: int, seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(words), words)
    scores = np.concatenate([np.zeros((words, 1)), np.log(weights)], axis=-1)
    ours, theirs = best_tree(scores), np.array(tree_governors(weights)) + 1
    assert (theirs == ROOT_COLUMN).sum() == 1
    np.testing.assert_allclose(*(scores[np.arange(words), tree].sum() for tree in (ours, theirs)))
