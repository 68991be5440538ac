"""Means over sentences: every sentence weighs the same, against an explicit loop in float64."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from store.kernels.statistics import mean_over_sentences, row_weights, source_rows, sum_over_sentences
from store.schema.corpus import CLS, SEP
from store.schema.model import SOURCES

LIBRARIES = pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
SHAPES = st.tuples(*(st.integers(1, size) for size in (3, 5, 9)))


@LIBRARIES
@given(rows=arrays.arrays(bool, SHAPES))
def test_every_sentence_with_rows_weighs_one_and_the_others_nothing(make: Any, rows: np.ndarray) -> None:
    weights = np.asarray(row_weights(make(rows)), np.float64)
    np.testing.assert_allclose(weights.sum(axis=-1), rows.any(axis=-1), atol=1e-6)


@LIBRARIES
@given(rows=arrays.arrays(bool, SHAPES))
def test_rows_of_a_sentence_weigh_the_same_and_other_rows_nothing(make: Any, rows: np.ndarray) -> None:
    weights = np.asarray(row_weights(make(rows)), np.float64)
    expected = np.where(rows, 1 / np.maximum(rows.sum(axis=-1, keepdims=True), 1), 0)
    np.testing.assert_allclose(weights, expected, rtol=1e-7)


@LIBRARIES
def test_sum_over_sentences_is_the_sum_of_an_explicit_loop(make: Any) -> None:
    choose = np.random.default_rng(0)
    statistics, weights = choose.standard_normal((20, 10, 3)), choose.random((20, 5))
    expected = np.zeros((5, 10, 3))
    for token in range(20):
        for source in range(5):
            expected[source] += statistics[token] * weights[token, source]
    np.testing.assert_allclose(np.asarray(sum_over_sentences(make(statistics), make(weights))), expected, rtol=1e-12)


def test_a_long_sentence_weighs_as_much_as_a_short_one() -> None:
    rows = np.array([[[True, False, False, False], [True, True, True, True]]])
    statistics = np.array([8.0, 1, 2, 3, 6])[:, None, None]
    total = sum_over_sentences(statistics, row_weights(rows)[:, rows[0]].T)
    assert total.item() == 8 + 3


@pytest.mark.parametrize(
    ("flags", "expected"), [([CLS, 0, SEP], 6), ([CLS, SEP, SEP], 5)], ids=["one separator", "two separators"]
)
def test_separators_are_averaged_over_those_that_are_there(flags: list[int], expected: float) -> None:
    """Clark's code divides by 2 however many there are."""
    rows = source_rows(np.array([flags], np.uint8), np.ones((1, 3), bool))
    total = sum_over_sentences(np.array([2.0, 4, 6])[:, None, None], row_weights(rows)[:, 0].T)
    assert total[SOURCES.index("sep")].item() == expected


def test_padding_has_no_part_in_a_mean() -> None:
    rows = source_rows(np.array([[CLS, SEP, 0]], np.uint8), np.array([[True, True, False]]))
    total = sum_over_sentences(np.array([2.0, 4, 600])[:, None, None], row_weights(rows)[:, 0].T)
    assert total[SOURCES.index("all")].item() == 3


def test_head_means_divide_by_the_sentences_of_each_source() -> None:
    sums = np.array([6.0, 6.0])[:, None, None, None]
    np.testing.assert_array_equal(mean_over_sentences(sums, np.array([2, 3])).ravel(), [3, 2])


def test_a_source_without_sentences_has_no_mean() -> None:
    assert np.isnan(mean_over_sentences(np.zeros((1, 1, 1, 1)), np.array([0]))).all()
