"""`store.kernels.attention` against products by hand and a closed form."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from store.kernels.attention import attention_rollout

LIBRARIES = pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])


@LIBRARIES
def test_heads_are_averaged_and_half_of_a_token_stays(make: Any) -> None:
    """Two heads, W = [[0, 1, 0], [0.5, 0, 0.5], [0, 0, 1]]."""
    first = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    second = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    rollout = attention_rollout(make(np.array([[first, second]])))
    np.testing.assert_allclose(np.asarray(rollout), [[[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.0, 1.0]]])


@LIBRARIES
def test_a_later_layer_mixes_what_the_earlier_has_mixed(make: Any) -> None:
    """The first layer hands token 0 on to token 1, the second token 1 on to token 2: a quarter of 2 comes from 0."""
    first = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    second = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    rollout = attention_rollout(make(np.array([[first], [second]])))
    np.testing.assert_allclose(np.asarray(rollout)[1], [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])


@LIBRARIES
@pytest.mark.parametrize("tokens", [1, 2, 7])
def test_uniform_attention_leaves_a_half_of_itself_a_layer(make: Any, tokens: int) -> None:
    """With W = U (all 1/n), U U = U, so that A^l = 2^-l I + (1 - 2^-l) U."""
    rollout = attention_rollout(make(np.full((5, 3, tokens, tokens), 1 / tokens)))
    for layer, found in enumerate(np.asarray(rollout), start=1):
        expected = 0.5**layer * np.eye(tokens) + (1 - 0.5**layer) / tokens
        np.testing.assert_allclose(found, expected, atol=1e-12)


@given(layers=st.integers(1, 5), heads=st.integers(1, 4), tokens=st.integers(1, 9), seed=st.integers(0, 1000))
def test_rows_sum_to_one(layers: int, heads: int, tokens: int, seed: int) -> None:
    pattern = np.random.default_rng(seed).dirichlet(np.ones(tokens), (layers, heads, tokens))
    np.testing.assert_allclose(attention_rollout(pattern).sum(axis=-1), 1)
