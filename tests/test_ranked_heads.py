"""Heads by their weight from one token to another."""

from dataclasses import replace

import numpy as np
import pytest

from dashboard.sentence.heads import ranked_heads
from tests.sentences import a_pair, one_sentence


def test_every_head_is_ranked_once() -> None:
    ranked = ranked_heads(a_pair(), 4, 7)
    assert {head[:2] for head in ranked} == {(layer, head) for layer in range(2) for head in range(3)}


def test_the_strongest_stands_first() -> None:
    weights = [head.weight for head in ranked_heads(a_pair(), 4, 7)]
    assert weights == sorted(weights, reverse=True)


@pytest.mark.parametrize(("query", "key"), [(0, 0), (4, 7), (8, 1)])
def test_weight_and_rank_are_those_of_the_query_in_the_pattern(query: int, key: int) -> None:
    sentence = a_pair()
    for layer, head, weight, rank in ranked_heads(sentence, query, key):
        row = sentence.pattern[layer, head, query]
        assert weight == pytest.approx(row[key], rel=1e-5)
        assert rank == 1 + np.flatnonzero(np.argsort(-row) == key)[0]


@pytest.mark.parametrize("word", [2, 3])
def test_between_words_a_weight_is_the_mean_over_the_query_of_the_sum_over_the_key(word: int) -> None:
    sentence = a_pair()
    for layer, head, weight, rank in ranked_heads(sentence, word, 4, words=True):
        row = sentence.pattern[layer, head, [2, 3]].mean(axis=0)
        assert weight == pytest.approx(row[4], rel=1e-5)
        by_word = [*row[[0, 1]], row[2] + row[3], *row[4:]]
        assert rank == 1 + np.sum(np.array(by_word) > row[4] * (1 + 1e-6))
    for layer, head, weight, _ in ranked_heads(sentence, 4, word, words=True):
        assert weight == pytest.approx(sentence.pattern[layer, head, 4, [2, 3]].sum(), rel=1e-5)


def test_keys_that_are_attended_to_alike_share_the_first_rank() -> None:
    sentence = one_sentence(tokens=5)
    uniform = replace(sentence, query=np.zeros_like(sentence.query))
    assert {head.rank_in_row for head in ranked_heads(uniform, 1, 4)} == {1}
