"""Parsing from attention alone (UAS): probes, baselines and controls, on sentences with known answers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import store
from ingest.words.trees import ProbeSentence, best_governors, scores, train
from ingest.words.uas import (
    FEWEST_SENTENCES,
    Split,
    Tree,
    best_head,
    control_governors,
    count_right,
    head_scores,
    offset_governors,
    training_offset,
    trees_of,
)
from store.schema.corpus import METHODS

Ingest = Callable[..., str]
MAPS = 3


def tree(number: int, words: int) -> Tree:
    """A random tree of `words` words."""
    random = np.random.default_rng(number)
    order = random.permutation(words)
    governor = np.zeros(words, np.int64)
    for place, word in enumerate(order[1:], 1):
        governor[word] = order[random.integers(place)] + 1
    spelled = tuple(f"word{random.integers(20)}" for _ in range(words))
    return Tree(number, slice(0, words), governor, np.ones(words, bool), spelled)


def sentence(tree: Tree, *, knowing: int, transposed: bool = False) -> ProbeSentence:
    """A sentence with maps of noise; the map `knowing` attends to the governor, and from the root to [CLS]."""
    words = len(tree.governor)
    random = np.random.default_rng(100 + tree.sentence)
    attention = random.dirichlet(np.ones(words + 2), size=(MAPS, words))
    to_governor = np.full((words, words + 1), 0.3 / words)
    to_governor[np.arange(words), tree.governor] = 0.7
    special = attention[..., -2:].copy()
    maps = attention[..., :words].copy()
    maps[knowing] = to_governor[:, 1:].T if transposed else to_governor[:, 1:]
    special[knowing, :, 0] = to_governor[:, 0]
    return ProbeSentence(
        maps.astype(np.float16), special.astype(np.float16), tree.governor, np.zeros((words, 0), np.float32)
    )


def split(*, transposed: bool = False) -> Split:
    trees = {number: tree(number, 4 + number % 5) for number in range(60)}
    return Split.of({number: sentence(each, knowing=1, transposed=transposed) for number, each in trees.items()}, trees)


@pytest.mark.parametrize("transposed", [False, True])
def test_the_best_head_is_the_one_that_knows_the_governor(transposed: bool) -> None:
    assert best_head(split(transposed=transposed)) == (1, transposed)


def test_a_word_without_any_weight_has_the_root_for_its_governor() -> None:
    """The case is the first word in a causal head: the first map finds the root alone, the second, transposed, two words more."""
    each = Tree(0, slice(0, 3), np.array([2, 1, 0]), np.ones(3, bool), ("a", "b", "c"))
    maps = np.array([np.zeros((3, 3)), [[0, 1, 0], [1, 0, 0], [1, 0, 0]]])
    known = ProbeSentence(
        maps.astype(np.float16), np.zeros((2, 3, 2), np.float16), each.governor, np.zeros((3, 0), np.float32)
    )
    assert best_head(Split([known], [], [each], [])) == (1, True)


def test_a_single_head_finds_every_governor_but_the_root() -> None:
    known = split()
    right, words = count_right(known, lambda each: best_governors(head_scores(each, 1, False)))
    assert (words - right == 1).all()


@pytest.mark.parametrize("transposed", [False, True])
def test_a_probe_learns_which_map_knows_the_governor(transposed: bool) -> None:
    known = split(transposed=transposed)
    probe = train(known.train, seed=0)
    right, words = count_right(known, lambda each: best_governors(scores(probe, each)))
    assert right.sum() / words.sum() > 0.95


def test_a_probe_of_noise_learns_nothing() -> None:
    known = split()
    noise = known.changed(lambda each, _: replace(each, attention=each.attention[[0, 2]], special=each.special[[0, 2]]))
    probe = train(noise.train, seed=0)
    right, words = count_right(noise, lambda each: best_governors(scores(probe, each)))
    assert right.sum() / words.sum() < 0.5


def test_a_probe_is_the_same_for_a_seed() -> None:
    known = split().train[:20]
    first, second = (train(known, seed=3).state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_scores_of_a_probe_are_its_formula() -> None:
    each = split().train[0]
    probe = train(split().train[:4], seed=0)
    weight, special = probe.weight.detach().numpy(), probe.special.detach().numpy()
    words = len(each.governor)
    for i in range(words):
        root = sum(each.special[k, i].astype(float) @ special[k] for k in range(MAPS))
        assert scores(probe, each)[i, 0] == pytest.approx(root, rel=1e-4)
        for j in range(words):
            by_hand = sum(
                weight[k] * float(each.attention[k, i, j]) + weight[MAPS + k] * float(each.attention[k, j, i])
                for k in range(MAPS)
            )
            if i != j:
                assert scores(probe, each)[i, j + 1] == pytest.approx(by_hand, rel=1e-4)


def test_punctuation_does_not_count() -> None:
    known = split()
    trees = [replace(each, counts=np.arange(len(each.governor)) > 0) for each in known.test_trees]
    _, words = count_right(replace(known, test_trees=trees), lambda each: each.governor)
    assert words.tolist() == [len(each.governor) - 1 for each in known.test_trees]


def test_an_offset_beyond_the_sentence_is_the_root() -> None:
    assert offset_governors(split().train[0], 1).tolist() == [2, 3, 4, 0]
    assert offset_governors(split().train[0], -2).tolist() == [0, 0, 1, 2]


def test_the_frequent_offset_is_that_of_most_words() -> None:
    trees = {number: replace(tree(number, 4), governor=np.array([2, 0, 2, 2])) for number in range(4)}
    known = Split.of({number: sentence(each, knowing=0) for number, each in trees.items()}, trees)
    assert training_offset(known) in (-2, -1, 1)
    more = {number: replace(tree(number, 4), governor=np.array([2, 3, 4, 0])) for number in range(4)}
    assert training_offset(Split.of({n: sentence(t, knowing=0) for n, t in more.items()}, more)) == 1


def test_a_control_is_the_same_for_a_spelling_and_never_the_word_itself() -> None:
    rules: dict[str, set[str]] = {}
    for number in range(60):
        each = tree(number, 4 + number % 5)
        found = control_governors(sentence(each, knowing=0), each).governor
        for place, (word, governor) in enumerate(zip(each.spelled, found, strict=True)):
            assert governor != place + 1
            if place not in (0, len(found) - 1):
                rule = {0: "root", 1: "first", len(found): "last"}[int(governor)]
                rules.setdefault(word, set()).add(rule)
    assert all(len(rule) == 1 for rule in rules.values())
    assert set.union(*rules.values()) == {"root", "first", "last"}


@pytest.mark.heavy
def test_every_method_is_measured_on_held_out_sentences(bank_corpus: store.Corpus) -> None:
    uas = bank_corpus.uas
    assert list(uas.approach.values) == list(METHODS)
    assert bool(uas.uas.sel(decoding="each").notnull().all())
    assert uas.attrs["trained_on"] == uas.attrs["reported_on"] == bank_corpus.n_sentences // 2
    low, high = uas.interval.sel(decoding="each")
    assert bool(((low <= uas.uas.sel(decoding="each")) & (uas.uas.sel(decoding="each") <= high)).all())


@pytest.mark.slow
@pytest.mark.heavy
def test_probes_are_trained_on_silver_annotation_too(ingest: Ingest, tmp_path: Path) -> None:
    corpus = store.open_corpus(ingest(tmp_path / "store", sentences=60, annotate="auto"))
    assert corpus.words.kind == "silver"
    assert (
        2 * FEWEST_SENTENCES <= corpus.uas.attrs["trained_on"] + corpus.uas.attrs["reported_on"] <= corpus.n_sentences
    )


@pytest.mark.heavy
def test_of_each_half_so_many_sentences_have_trees_at_most(bank_corpus: store.Corpus) -> None:
    numbers = list(trees_of(bank_corpus.words, bank_corpus.n_sentences, most=3))
    assert [sum(number % 2 == half for number in numbers) for half in (0, 1)] == [3, 3]


@pytest.mark.heavy
def test_the_next_word_is_the_governor_as_often_as_counted_in_the_words(bank_corpus: store.Corpus) -> None:
    table, right, words = bank_corpus.words.table, 0, 0
    punctuation = bank_corpus.words.names("relation").index("punct")
    for number in range(1, bank_corpus.n_sentences, 2):
        rows = table.isel(word=bank_corpus.words.rows(number))
        for place, (governor, label) in enumerate(zip(rows.governor.values, rows.relation.values, strict=True)):
            if label != punctuation:
                words += 1
                last = place == rows.sizes["word"] - 1
                right += governor == (-1 if last else place + 1)
    assert bank_corpus.uas.attrs["words"] == words
    assert float(bank_corpus.uas.uas.sel(approach="right_branching", decoding="each")) == pytest.approx(right / words)
