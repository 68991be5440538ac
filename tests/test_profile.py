"""Attention by distance and by position, against loops and hand-made cases."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from store.kernels.statistics import offset_profile, summed_pattern
from store.schema.model import OFFSETS
from tests import definitions

LIBRARIES = pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])


def patterns(sentences: int, heads: int, tokens: int) -> np.ndarray:
    return np.random.default_rng(tokens).dirichlet(np.ones(tokens), size=(sentences, heads, tokens))


def profile(pattern: np.ndarray, real: np.ndarray, make: Any) -> np.ndarray:
    """(offset, head)."""
    return np.asarray(offset_profile(summed_pattern(make(pattern), make(real))))


def padded(pattern: np.ndarray, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """The same sentences with padding, whose own rows attend to real tokens as BERT's do."""
    size = pattern.shape[-1]
    wide = np.zeros((*pattern.shape[:2], tokens, tokens))
    wide[..., :size, :size], wide[..., size:, :size] = pattern, 1 / size
    return wide, np.tile(np.arange(tokens) < size, (len(pattern), 1))


@LIBRARIES
@given(sentences=st.integers(1, 3), heads=st.integers(1, 3), tokens=st.integers(1, 30))
def test_a_profile_is_that_of_a_loop_over_the_pattern(sentences: int, heads: int, tokens: int, make: Any) -> None:
    pattern = patterns(sentences, heads, tokens)
    expected = sum(np.stack([definitions.offsets(head) for head in sentence], axis=-1) for sentence in pattern)
    np.testing.assert_allclose(profile(pattern, np.ones((sentences, tokens), bool), make), expected, atol=1e-12)


@LIBRARIES
@given(tokens=st.integers(1, 40))
def test_every_sentence_adds_one_to_a_profile(tokens: int, make: Any) -> None:
    found = profile(patterns(2, 3, tokens), np.ones((2, tokens), bool), make)
    np.testing.assert_allclose(found.sum(axis=0), 2)


@LIBRARIES
def test_a_profile_of_three_tokens_is_what_one_gets_by_hand(make: Any) -> None:
    pattern = np.array([[[[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.96, 0.04, 0.0]]]])
    found = dict(zip(OFFSETS, profile(pattern, np.ones((1, 3), bool), make)[:, 0], strict=True))
    expected = {-2: 0.96 / 3, -1: 0.14 / 3, 0: 1.1 / 3, 1: 0.6 / 3, 2: 0.2 / 3}
    assert found == pytest.approx({offset: expected.get(offset, 0) for offset in OFFSETS})


@LIBRARIES
@pytest.mark.parametrize(("distance", "offset"), [(10, 10), (11, 11), (12, 11), (-10, -10), (-11, -11), (-19, -11)])
def test_what_is_farther_than_ten_tokens_stands_at_the_end(distance: int, offset: int, make: Any) -> None:
    pattern = np.eye(20)
    query, key = (0, distance) if distance > 0 else (19, 19 + distance)
    pattern[query] = np.eye(20)[key]
    found = profile(pattern[None, None], np.ones((1, 20), bool), make)[:, 0]
    np.testing.assert_allclose(found[OFFSETS.index(offset)], 1 / 20)


@LIBRARIES
def test_padding_has_no_part_in_a_profile(make: Any) -> None:
    pattern = patterns(2, 3, 5)
    np.testing.assert_allclose(
        profile(*padded(pattern, 13), make), profile(pattern, np.ones((2, 5), bool), make), atol=1e-12
    )


@LIBRARIES
def test_columns_of_the_sum_are_the_mean_weights_on_a_position(make: Any) -> None:
    pattern = patterns(4, 2, 6)
    found = np.asarray(summed_pattern(make(pattern), make(np.ones((4, 6), bool)))).sum(axis=1)
    for position in range(6):
        expected = sum(sentence[:, :, position].mean(axis=1) for sentence in pattern)
        np.testing.assert_allclose(found[:, position], expected)


@LIBRARIES
def test_padding_receives_nothing_and_gives_nothing(make: Any) -> None:
    pattern = patterns(2, 3, 5)
    wide, real = padded(pattern, 9)
    found = np.asarray(summed_pattern(make(wide), make(real)))
    np.testing.assert_allclose(found[:, :5, :5], pattern.sum(axis=0) / 5)
    assert not found[:, 5:].any()
    assert not found[:, :, 5:].any()
