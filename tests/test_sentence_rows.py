"""Means over the rows of each source in each sentence, against means spelled out one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from store.kernels.intervals import as_float32, order_rows

#: Arrays of the bits of any float16 numbers.
BITS = arrays(np.uint16, (2, 5), elements=st.integers(0, 0xFFFF))


def by_hand(values: np.ndarray, rows: np.ndarray, sentence: np.ndarray) -> np.ndarray:
    """Mean over the chosen rows of each sentence with a row, 0 where none is chosen: (..., sentence)."""
    chosen = [rows & (sentence == number) for number in np.unique(sentence)]
    means = [values[..., own].mean(axis=-1) if own.any() else np.zeros(values.shape[:-1]) for own in chosen]
    return np.stack(means, axis=-1)


@pytest.mark.parametrize("at_once", [4, 1 << 20])
@settings(max_examples=80)
@given(seed=st.integers(0, 9_999), tokens=st.integers(1, 40), share=st.sampled_from([0.1, 0.5, 1.0]))
def test_means_are_those_of_the_rows_of_each_source(at_once: int, seed: int, tokens: int, share: float) -> None:
    random = np.random.default_rng(seed)
    sources = random.random((6, tokens)) < share
    sentence = np.sort(random.integers(0, 9, tokens))
    values = random.standard_normal((3, 2, tokens)).astype(np.float16)
    rows = order_rows(sources, sentence)
    means = rows.means(values, at_once)[rows.of_source]
    for own, source in zip(means, sources, strict=True):
        np.testing.assert_allclose(own, by_hand(values.astype(np.float64), source, sentence), rtol=1e-4, atol=1e-5)


def test_sources_with_the_same_rows_share_their_means() -> None:
    rows = order_rows(np.array([[True, True], [True, False], [True, True]]), np.array([0, 1]))
    assert rows.of_source[0] == rows.of_source[2] != rows.of_source[1]
    assert len(rows.sizes) == 2


def test_sizes_count_the_rows_of_each_source() -> None:
    rows = order_rows(np.array([[True, True, True], [False, True, False]]), np.array([4, 4, 7]))
    assert rows.sentences.tolist() == [4, 7]
    assert rows.sizes[rows.of_source].tolist() == [[2, 1], [1, 0]]


@given(bits=BITS)
def test_halves_are_the_same_numbers_in_float32(bits: np.ndarray) -> None:
    values = bits.view(np.float16)
    np.testing.assert_array_equal(as_float32(values, np.empty(values.shape, np.float32)), values.astype(np.float32))


def test_every_finite_half_above_zero_is_the_same_number_in_float32() -> None:
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16)
    np.testing.assert_array_equal(as_float32(halves, np.empty(halves.shape, np.float32)), halves.astype(np.float32))
