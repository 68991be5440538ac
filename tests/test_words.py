"""`store.kernels.attention` against sums and means written out by hand."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from store.kernels.attention import Groups, merge_words

LIBRARIES = pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
PATTERN = np.array([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.4, 0.0, 0.6]])


@LIBRARIES
def test_attention_to_a_word_is_the_sum_over_its_wordpieces(make: Any) -> None:
    merged = merge_words(make(PATTERN), [(0,), (1,), (2,)], [(0,), (1, 2)])
    np.testing.assert_allclose(np.asarray(merged), [[0.5, 0.5], [0.1, 0.9], [0.4, 0.6]])


@LIBRARIES
def test_attention_from_a_word_is_the_mean_over_its_wordpieces(make: Any) -> None:
    merged = merge_words(make(PATTERN), [(0,), (1, 2)], [(0,), (1,), (2,)])
    np.testing.assert_allclose(np.asarray(merged), [[0.5, 0.3, 0.2], [0.25, 0.35, 0.4]])


@LIBRARIES
def test_a_word_of_three_wordpieces_attends_to_itself_alone(make: Any) -> None:
    np.testing.assert_allclose(np.asarray(merge_words(make(PATTERN), [(0, 1, 2)], [(0, 1, 2)])), [[1.0]])


@LIBRARIES
def test_a_token_that_is_in_no_word_is_left_out(make: Any) -> None:
    np.testing.assert_allclose(np.asarray(merge_words(make(PATTERN), [(1,)], [(0,), (2,)])), [[0.1, 0.2]])


@LIBRARIES
def test_without_words_nothing_is_left(make: Any) -> None:
    assert tuple(merge_words(make(PATTERN), [], []).shape) == (0, 0)


@LIBRARIES
def test_the_pattern_itself_is_not_changed(make: Any) -> None:
    pattern = make(PATTERN.copy())
    merge_words(pattern, [(0,), (1, 2)], [(0, 1), (2,)])
    np.testing.assert_array_equal(np.asarray(pattern), PATTERN)


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=8), seed=st.integers(0, 1000))
def test_attention_from_each_word_sums_to_one(sizes: list[int], seed: int) -> None:
    words, tokens = split(sizes), sum(sizes)
    pattern = np.random.default_rng(seed).dirichlet(np.ones(tokens), (2, 3, tokens))
    np.testing.assert_allclose(merge_words(pattern, words, words).sum(axis=-1), 1)


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=8), seed=st.integers(0, 1000))
def test_merging_is_a_product_with_who_belongs_to_whom(sizes: list[int], seed: int) -> None:
    words, tokens = split(sizes), sum(sizes)
    pattern = np.random.default_rng(seed).random((2, tokens, tokens))
    member = np.array([[float(token in word) for token in range(tokens)] for word in words])
    expected = np.einsum("wq,bqk,vk->bwv", member / member.sum(axis=1, keepdims=True), pattern, member)
    np.testing.assert_allclose(merge_words(pattern, words, words), expected)


def split(sizes: list[int]) -> Groups:
    """Words of these numbers of wordpieces, one after the other."""
    ends = np.cumsum(sizes).tolist()
    return [tuple(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)]
