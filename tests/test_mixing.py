"""Mixing ratios and the expansion rate: cases whose answer is known, and the definitions written out."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from store.kernels.attention import expansion_rate
from store.kernels.mixing import attended_part, mixing_ratios, own_part
from store.schema.model import RATIOS

LIBRARIES = pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])


def ratios(
    pattern: np.ndarray, value: np.ndarray, residual: np.ndarray, make: Any, gain: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Mixing ratios (token,) by name, of patterns (head, query, key) and values (head, token, channel), concatenated by head."""
    features = len(value) * value.shape[-1]
    to_self = make(np.ascontiguousarray(np.einsum("hii->ih", pattern)))
    own = own_part(to_self, make(np.ascontiguousarray(value.swapaxes(0, 1))), make(np.eye(features)))
    attended = np.einsum("hij,hjc->ihc", pattern, value).reshape(len(residual), -1)
    gamma = np.ones(features) if gain is None else gain
    computed = mixing_ratios(to_self, make(attended), own, make(residual), make(gamma))
    return dict(zip(RATIOS, np.asarray(computed), strict=True))


#: Two tokens that share no direction.
VALUE = np.eye(4)[None, :2]


@LIBRARIES
def test_a_norm_that_centres_nothing_leaves_the_mean_in_the_ratio(make: Any) -> None:
    parts = (make(np.array([[3.0, 5.0]])), make(np.zeros((1, 2))), make(np.array([[1.0, 3.0]])))
    gain = make(np.array([1.0, 2.0]))
    centred, plain = (
        float(mixing_ratios(make(np.zeros((1, 1))), *parts, gain, centred=each)[-1, 0]) for each in (True, False)
    )
    assert centred == pytest.approx(0.5)  # features of both parts differ by 2
    mixed, preserved = np.hypot(3, 10), np.hypot(1, 6)
    assert plain == pytest.approx(mixed / (mixed + preserved))


@LIBRARIES
def test_a_token_that_attends_to_itself_alone_is_not_mixed(make: Any) -> None:
    mixed = ratios(np.eye(2)[None], VALUE, np.zeros((2, 4)), make)
    np.testing.assert_allclose(np.stack(list(mixed.values())), 0, atol=1e-12)


@LIBRARIES
def test_a_token_that_attends_to_others_alone_is_mixed_wholly(make: Any) -> None:
    mixed = ratios(np.eye(2)[None, ::-1], VALUE, np.zeros((2, 4)), make)
    expected = [0.5 if name == "attnres_w" else 1 for name in RATIOS]
    np.testing.assert_allclose(np.stack(list(mixed.values())), np.tile(expected, (2, 1)).T)


@LIBRARIES
def test_a_residual_as_long_as_what_is_mixed_in_makes_half(make: Any) -> None:
    mixed = ratios(np.eye(2)[None, ::-1], VALUE, np.eye(4)[2:], make)
    np.testing.assert_allclose(mixed["attn_n"], 1)
    np.testing.assert_allclose(mixed["attnres_n"], 0.5)


@LIBRARIES
def test_the_layer_norm_sees_nothing_of_what_is_the_same_in_all_features(make: Any) -> None:
    mixed = ratios(np.eye(2)[None, ::-1], VALUE, np.full((2, 4), 3.0), make)
    np.testing.assert_allclose(mixed["attnresln_n"], 1)


@LIBRARIES
def test_the_gain_of_the_layer_norm_weighs_the_features(make: Any) -> None:
    """Token i has its mixed-in part in feature 1 - i, and its residual in feature 2 + i."""
    gain = np.array([0.0, 0.0, 1.0, 0.0])
    value, residual = np.eye(4)[None, :2] - 0.25, np.eye(4)[2:] - 0.25
    mixed = ratios(np.eye(2)[None, ::-1], value, residual, make, gain)
    np.testing.assert_allclose(mixed["attnresln_n"], [0.25 / (0.25 + 0.75), 0.25 / (0.25 + 0.25)])


@LIBRARIES
def test_heads_may_cancel_by_their_vectors_and_not_by_their_weights(make: Any) -> None:
    pattern = np.tile(np.eye(2)[::-1], (2, 1, 1))
    to_self = make(np.ascontiguousarray(np.einsum("hii->ih", pattern)))
    residual = make(np.eye(4)[:2])
    computed = np.asarray(
        mixing_ratios(to_self, make(np.zeros((2, 4))), make(np.zeros((2, 4))), residual, make(np.ones(4)))
    )
    assert computed[list(RATIOS).index("attn_w")].tolist() == [1, 1]
    assert computed[list(RATIOS).index("attnres_n")].tolist() == [0, 0]


@LIBRARIES
@given(heads=st.integers(1, 3), tokens=st.integers(1, 6), seed=st.integers(0, 99))
def test_mixing_ratios_are_between_0_and_1(heads: int, tokens: int, seed: int, make: Any) -> None:
    choose = np.random.default_rng(seed)
    pattern = choose.dirichlet(np.ones(tokens), size=(heads, tokens))
    value, residual = choose.standard_normal((heads, tokens, 4)), choose.standard_normal((tokens, heads * 4))
    mixed = np.stack(list(ratios(pattern, value, residual, make).values()))
    assert ((mixed >= -1e-12) & (mixed <= 1 + 1e-12)).all()


@LIBRARIES
def test_own_part_is_the_sum_over_heads_of_what_each_hands_on(make: Any) -> None:
    choose = np.random.default_rng(0)
    to_self, value, weight = choose.random((5, 3)), choose.standard_normal((5, 3, 2)), choose.standard_normal((6, 6))
    expected = np.zeros((5, 6))
    for token in range(5):
        for head in range(3):
            expected[token] += to_self[token, head] * value[token, head] @ weight[2 * head : 2 * head + 2]
    np.testing.assert_allclose(np.asarray(own_part(make(to_self), make(value), make(weight))), expected)


@LIBRARIES
def test_attended_part_is_the_sum_over_heads_and_tokens_of_what_each_hands_on(make: Any) -> None:
    choose = np.random.default_rng(0)
    pattern, value, weight = choose.random((3, 5, 5)), choose.standard_normal((5, 3, 2)), choose.standard_normal((6, 6))
    expected = np.zeros((5, 6))
    for head, query, key in np.ndindex(3, 5, 5):
        expected[query] += pattern[head, query, key] * value[key, head] @ weight[2 * head : 2 * head + 2]
    np.testing.assert_allclose(np.asarray(attended_part(make(pattern), make(value), make(weight))), expected)


@LIBRARIES
@pytest.mark.parametrize("scale", [0.0, 1.0, 3.0])
def test_a_map_that_scales_and_turns_expands_by_its_scale(scale: float, make: Any) -> None:
    """The singular value 1 of the homogeneous coordinate is counted too."""
    turned, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((7, 7)))
    rate = expansion_rate(make(scale * turned), make(np.zeros(7)), make(turned), make(np.zeros(7)))
    np.testing.assert_allclose(rate, np.sqrt((7 * scale**2 + 1) / 8))


@LIBRARIES
def test_the_expansion_rate_is_that_of_the_singular_values_with_the_output_bias_as_a_column(make: Any) -> None:
    choose = np.random.default_rng(0)
    value, output = choose.standard_normal((2, 6, 6))
    value_bias, output_bias = choose.standard_normal((2, 6))
    first = np.block([[value, np.zeros((6, 1))], [value_bias, np.ones(1)]])
    second = np.block([[output, output_bias[:, None]], [np.zeros((1, 6)), np.ones((1, 1))]])
    expected = np.sqrt((np.linalg.svd(first @ second, compute_uv=False) ** 2).mean())
    rate = expansion_rate(make(value), make(value_bias), make(output), make(output_bias))
    np.testing.assert_allclose(rate, expected)
