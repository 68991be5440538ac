"""`store.kernels.attention` against scipy, explicit products and closed forms."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from store.kernels.attention import (
    Groups,
    attention_logits,
    attention_pattern,
    merge_words,
    output_gram,
    value_norm,
)
from store.kernels.mixing import layer_matrix, roll_out

LIBRARIES = pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])


def random_vectors(*shape: int, seed: int = 0) -> np.ndarray:
    return 2 * np.random.default_rng(seed).standard_normal(shape)


@LIBRARIES
def test_logits_are_dot_products_over_the_root_of_the_channels(make: Any) -> None:
    query, key = random_vectors(5, 4), random_vectors(7, 4, seed=1)
    expected = [
        [sum(q * k for q, k in zip(query_vector, other, strict=True)) / 2 for other in key] for query_vector in query
    ]
    np.testing.assert_allclose(np.asarray(attention_logits(make(query), make(key))), expected)


@LIBRARIES
def test_pattern_is_the_softmax_of_scipy(make: Any) -> None:
    query, key = random_vectors(2, 3, 5, 4), random_vectors(2, 3, 7, 4, seed=1)
    expected = softmax(np.einsum("bhqc,bhkc->bhqk", query, key) / np.sqrt(4), axis=-1)
    np.testing.assert_allclose(np.asarray(attention_pattern(make(query), make(key))), expected, rtol=1e-12)


@LIBRARIES
@given(tokens=st.integers(1, 9), channels=st.integers(1, 8), scale=st.floats(0, 1e3), seed=st.integers(0, 1000))
def test_rows_of_a_pattern_sum_to_one(make: Any, tokens: int, channels: int, scale: float, seed: int) -> None:
    query, key = (
        scale * random_vectors(3, tokens, channels, seed=seed),
        random_vectors(3, tokens, channels, seed=seed + 1),
    )
    pattern = np.asarray(attention_pattern(make(query), make(key)))
    np.testing.assert_allclose(pattern.sum(axis=-1), 1, rtol=1e-12)
    assert (pattern >= 0).all()


@LIBRARIES
def test_keys_that_are_not_real_get_no_weight(make: Any) -> None:
    query, key = random_vectors(1, 4, 8), random_vectors(1, 6, 8, seed=1)
    real = np.array([[True, True, False, True, False, False]])
    pattern = np.asarray(attention_pattern(make(query), make(key), make(real)))
    assert (pattern[..., ~real[0]] == 0).all()


@LIBRARIES
def test_masking_keys_equals_leaving_them_out(make: Any) -> None:
    query, key = random_vectors(1, 4, 8), random_vectors(1, 6, 8, seed=1)
    real = np.array([[True, True, False, True, False, False]])
    pattern = np.asarray(attention_pattern(make(query), make(key), make(real)))
    without = softmax(query @ key[:, real[0]].swapaxes(-1, -2) / np.sqrt(8), axis=-1)
    np.testing.assert_allclose(pattern[..., real[0]], without, rtol=1e-12)


@LIBRARIES
def test_pattern_is_unchanged_by_a_translation_of_all_keys(make: Any) -> None:
    query, key = random_vectors(5, 4), random_vectors(7, 4, seed=1)
    moved = attention_pattern(make(query), make(key + random_vectors(1, 4, seed=2)))
    np.testing.assert_allclose(
        np.asarray(moved), np.asarray(attention_pattern(make(query), make(key))), rtol=1e-9, atol=1e-14
    )


@LIBRARIES
def test_pattern_of_huge_logits_is_finite(make: Any) -> None:
    query = np.array([[1e4, 0.0]])
    pattern = np.asarray(attention_pattern(make(query), make(np.array([[1e4, 0.0], [0.0, 1.0]]))))
    np.testing.assert_array_equal(pattern, [[1.0, 0.0]])


def test_numpy_and_torch_give_the_same_pattern_in_float32() -> None:
    query, key = random_vectors(2, 9, 16).astype(np.float32), random_vectors(2, 9, 16, seed=1).astype(np.float32)
    with_torch = attention_pattern(torch.from_numpy(query), torch.from_numpy(key)).numpy()
    assert with_torch.dtype == np.float32
    np.testing.assert_allclose(attention_pattern(query, key), with_torch, rtol=1e-4, atol=1e-7)


@LIBRARIES
def test_output_gram_gives_the_squared_length_of_what_a_value_becomes(make: Any) -> None:
    weight, value = random_vectors(3, 4, 12), random_vectors(4, seed=1)
    gram = np.asarray(output_gram(make(weight)))
    for head in range(3):
        assert value @ gram[head] @ value == pytest.approx(((value @ weight[head]) ** 2).sum())


@LIBRARIES
def test_value_norm_is_the_norm_of_the_explicitly_transformed_token(make: Any) -> None:
    """Kobayashi et al. 2020, equation 4: f(x) = (x W_V + b_V) W_O, head by head."""
    x, w_v, b_v = random_vectors(6, 12), random_vectors(3, 12, 4, seed=1), random_vectors(3, 1, 4, seed=2)
    w_o = random_vectors(3, 4, 12, seed=3)
    value = x @ w_v + b_v
    expected = [[np.linalg.norm((token @ w_v[h] + b_v[h, 0]) @ w_o[h]) for token in x] for h in range(3)]
    norms = value_norm(make(value), output_gram(make(w_o)))
    np.testing.assert_allclose(np.asarray(norms), expected, rtol=1e-10)


@LIBRARIES
def test_value_norm_of_a_zero_value_is_zero(make: Any) -> None:
    gram = output_gram(make(random_vectors(2, 4, 12)))
    np.testing.assert_array_equal(np.asarray(value_norm(make(np.zeros((2, 5, 4))), gram)), 0)


# -- rollout ------------------------------------------------------------------------------------------


def attention_rollout(pattern: Any) -> Any:
    """Rollout up to each layer, from patterns (layer, head, query_token, key_token)."""
    return roll_out([layer_matrix("rollout", own) for own in pattern])


@LIBRARIES
def test_heads_are_averaged_and_half_of_a_token_stays(make: Any) -> None:
    """Two heads, W = [[0, 1, 0], [0.5, 0, 0.5], [0, 0, 1]]."""
    first = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    second = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    rollout = attention_rollout(make(np.array([[first, second]])))
    np.testing.assert_allclose(np.asarray(rollout), [[[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.0, 1.0]]])


@LIBRARIES
def test_a_later_layer_mixes_what_the_earlier_has_mixed(make: Any) -> None:
    """Token 1 attends to token 0 in the first layer, token 2 to token 1 in the second: a quarter of token 2 is from token 0."""
    first = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    second = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    rollout = attention_rollout(make(np.array([[first], [second]])))
    np.testing.assert_allclose(np.asarray(rollout)[1], [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])


@LIBRARIES
@pytest.mark.parametrize("tokens", [1, 2, 7])
def test_uniform_attention_leaves_a_half_of_itself_a_layer(make: Any, tokens: int) -> None:
    """For W = U (all entries 1/n), U U = U, so that A^l = 2^-l I + (1 - 2^-l) U."""
    rollout = attention_rollout(make(np.full((5, 3, tokens, tokens), 1 / tokens)))
    for layer, mixed in enumerate(np.asarray(rollout), start=1):
        expected = 0.5**layer * np.eye(tokens) + (1 - 0.5**layer) / tokens
        np.testing.assert_allclose(mixed, expected, atol=1e-12)


@given(layers=st.integers(1, 5), heads=st.integers(1, 4), tokens=st.integers(1, 9), seed=st.integers(0, 1000))
def test_rows_sum_to_one(layers: int, heads: int, tokens: int, seed: int) -> None:
    pattern = np.random.default_rng(seed).dirichlet(np.ones(tokens), (layers, heads, tokens))
    np.testing.assert_allclose(attention_rollout(pattern).sum(axis=-1), 1)


# -- attention between words --------------------------------------------------------------------------


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
    """Words with these numbers of wordpieces, one after the other."""
    ends = np.cumsum(sizes).tolist()
    return [tuple(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)]
