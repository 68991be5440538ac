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


def test_keys_that_are_attended_to_alike_share_the_first_rank() -> None:
    sentence = one_sentence(tokens=5)
    uniform = replace(sentence, query=np.zeros_like(sentence.query))
    assert {head.rank_in_row for head in ranked_heads(uniform, 1, 4)} == {1}
