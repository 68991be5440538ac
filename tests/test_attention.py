"""`store.kernels.attention` against scipy and explicit products."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import softmax

from store.kernels.attention import attention_logits, attention_pattern, output_gram, value_norm

LIBRARIES = pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])


def random_vectors(*shape: int, seed: int = 0) -> np.ndarray:
    return 2 * np.random.default_rng(seed).standard_normal(shape)


@LIBRARIES
def test_logits_are_dot_products_over_the_root_of_the_channels(make: Any) -> None:
    query, key = random_vectors(5, 4), random_vectors(7, 4, seed=1)
    expected = [[sum(q * k for q, k in zip(one, other, strict=True)) / 2 for other in key] for one in query]
    np.testing.assert_allclose(np.asarray(attention_logits(make(query), make(key))), expected)


@LIBRARIES
def test_pattern_is_the_softmax_of_scipy(make: Any) -> None:
    query, key = random_vectors(2, 3, 5, 4), random_vectors(2, 3, 7, 4, seed=1)
    expected = softmax(np.einsum("bhqc,bhkc->bhqk", query, key) / np.sqrt(4), axis=-1)
    np.testing.assert_allclose(np.asarray(attention_pattern(make(query), make(key))), expected, rtol=1e-12)


@LIBRARIES
def test_rows_of_a_pattern_sum_to_one(make: Any) -> None:
    query, key = random_vectors(3, 6, 8), random_vectors(3, 6, 8, seed=1)
    pattern = attention_pattern(make(query), make(key))
    np.testing.assert_allclose(np.asarray(pattern).sum(axis=-1), 1, rtol=1e-12)


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
