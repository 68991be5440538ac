"""Dependency trees from scores, against networkx and against all trees there are."""

from itertools import product

import networkx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ingest.words.trees import ROOT_COLUMN, best_governors, best_tree


def scores_of(words: int) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.float64, (words, words + 1), elements=st.floats(-5, 5, width=16))


SCORES = st.integers(1, 4).flatmap(scores_of)


def total(scores: np.ndarray, governors: np.ndarray) -> float:
    return float(scores[np.arange(len(scores)), governors].sum())


def is_tree(governors: tuple[int, ...]) -> bool:
    """Whether the governors have one root from which every word can be reached."""
    if governors.count(ROOT_COLUMN) != 1:
        return False
    graph = networkx.DiGraph((governor, word) for word, governor in enumerate(governors, 1))
    return networkx.is_arborescence(graph)


@given(SCORES)
def test_no_tree_with_one_root_scores_more(scores: np.ndarray) -> None:
    words = len(scores)
    every = [governors for governors in product(range(words + 1), repeat=words) if is_tree(governors)]
    found = best_tree(scores)
    assert is_tree(tuple(map(int, found)))
    best = max(total(scores, np.array(governors)) for governors in every)
    np.testing.assert_allclose(total(scores, found), best, atol=1e-9)


@settings(max_examples=30)
@given(st.integers(5, 24).flatmap(scores_of))
def test_a_tree_of_many_words_scores_as_much_as_that_of_networkx(scores: np.ndarray) -> None:
    one_root = scores - 1000 * (np.arange(scores.shape[1]) == ROOT_COLUMN)
    graph = networkx.DiGraph()
    for word, row in enumerate(one_root, 1):
        graph.add_weighted_edges_from(
            (governor, word, weight) for governor, weight in enumerate(row) if governor != word
        )
    theirs = networkx.maximum_spanning_arborescence(graph, preserve_attrs=True)
    found = best_tree(scores)
    assert is_tree(tuple(map(int, found)))
    np.testing.assert_allclose(total(one_root, found), theirs.size(weight="weight"), atol=1e-9)


def test_a_word_that_may_not_govern_itself_may_have_the_score_of_minus_infinity() -> None:
    scores = np.array([[1.0, -np.inf, 5], [0.0, 5, -np.inf]])
    assert best_tree(scores).tolist() == [0, 1]


@given(SCORES)
def test_each_word_alone_has_its_largest_score_but_its_own(scores: np.ndarray) -> None:
    for word, governor in enumerate(best_governors(scores)):
        others = np.delete(scores[word], word + 1)
        assert governor != word + 1
        assert scores[word, governor] == others.max()


def test_a_cycle_is_broken_where_it_costs_least() -> None:
    scores = np.array([[1.0, 0, 5], [0.0, 5, 0]])
    assert best_governors(scores).tolist() == [2, 1]
    assert best_tree(scores).tolist() == [0, 1]
