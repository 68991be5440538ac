"""`store.kernels.statistics` of single rows, against hand-made cases and scipy."""

from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch

from store.kernels.statistics import ATTENDED, SINK, attention_distance, entropy, source_rows, token_statistics
from store.schema.corpus import CLS, PUNCTUATION, SEP, SYMBOL
from store.schema.model import SOURCES, STATISTICS

LIBRARIES = pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])

#: [CLS] . [SEP]
FLAGS = np.array([CLS, PUNCTUATION, SEP], np.uint8)
#: ||f(x)|| of the three.
NORM = np.array([[2.0, 1.0, 0.5]])
PATTERN = np.array([[[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.96, 0.04, 0.0]]])
BY_HAND = {
    "to_cls": [0.5, 0.1, 0.96],
    "to_sep": [0.2, 0.3, 0.0],
    "to_punctuation": [0.3, 0.6, 0.04],
    "to_previous": [0.0, 0.1, 0.04],
    "to_next": [0.3, 0.3, 0.0],
    "to_self": [0.5, 0.6, 0.0],
    "entropy": [1.029653, 0.897946, 0.167944],
    "attended_keys": [3, 3, 1],
    "distance": [0.3 + 2 * 0.2, 0.1 + 0.3, 2 * 0.96 + 0.04],
    "received": [1.56, 0.94, 0.5],
    "confidence": [0.5, 0.6, 0.96],
    "participation": [1 / 0.38, 1 / 0.46, 1 / 0.9232],
    "to_sink": [0.5, 0.1, 0.96],
    "norm_to_cls": [1.0 / 1.4, 0.2 / 0.95, 1.92 / 1.96],
    "norm_to_sep": [0.1 / 1.4, 0.15 / 0.95, 0.0],
    "norm_to_punctuation": [0.3 / 1.4, 0.6 / 0.95, 0.04 / 1.96],
    "norm_to_self": [1.0 / 1.4, 0.6 / 0.95, 0.0],
}


def statistic(
    name: str, pattern: np.ndarray, flags: np.ndarray, real: np.ndarray, make: Any, norm: np.ndarray | None = None
) -> np.ndarray:
    """One statistic of the only head: (token); all norms are 1 unless given."""
    norms = np.ones((1, len(flags))) if norm is None else norm
    found = token_statistics(make(pattern), make(flags), make(real), make(norms))
    return np.asarray(found)[list(STATISTICS).index(name), 0]


@LIBRARIES
@pytest.mark.parametrize("name", list(STATISTICS))
def test_statistic_of_three_tokens_is_what_one_gets_by_hand(name: str, make: Any) -> None:
    found = statistic(name, PATTERN, FLAGS, np.ones(3, bool), make, NORM)
    np.testing.assert_allclose(found, BY_HAND[name], rtol=1e-5)


@LIBRARIES
@pytest.mark.parametrize("name", list(STATISTICS))
def test_padding_is_never_counted(name: str, make: Any) -> None:
    """The same sentence with two tokens of padding, whose own rows attend to real tokens as BERT's do."""
    pattern = np.zeros((1, 5, 5))
    pattern[:, :3, :3], pattern[:, 3:, :3] = PATTERN, 1 / 3
    flags, real = np.array([*FLAGS, 0, 0], np.uint8), np.array([True, True, True, False, False])
    found = statistic(name, pattern, flags, real, make, np.array([[*NORM[0], 7.0, 9.0]]))
    np.testing.assert_allclose(found[:3], BY_HAND[name], rtol=1e-5)


@LIBRARIES
def test_attention_to_sep_adds_up_over_both_separators(make: Any) -> None:
    pattern = np.tile([0.1, 0.2, 0.3, 0.4], (1, 4, 1))
    flags = np.array([CLS, SEP, 0, SEP], np.uint8)
    found = statistic("to_sep", pattern, flags, np.ones(4, bool), make)
    np.testing.assert_allclose(found, 0.2 + 0.4)


@LIBRARIES
@pytest.mark.parametrize(
    ("flags", "expected"),
    [([CLS, 0, SEP], [0.2, 0.3, 0.4]), ([CLS, SEP, SEP], [0.5, 0.9, 0.5]), ([SEP, SEP, SEP], [1, 1, 1])],
    ids=["one", "two", "three"],
)
def test_every_separator_counts_once(flags: list[int], expected: list[float], make: Any) -> None:
    pattern = np.array([[[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.5, 0.1, 0.4]]])
    for name in ("to_sep", "norm_to_sep"):
        found = statistic(name, pattern, np.array(flags, np.uint8), np.ones(3, bool), make)
        np.testing.assert_allclose(found, expected)


@LIBRARIES
@pytest.mark.parametrize(
    ("flags", "expected"),
    [([CLS, 0, SEP], [0.2, 0.3, 0.7]), ([CLS, SEP, SEP], [0.1, 0.2, 0.1]), ([SEP, SEP, SEP], [0, 0, 0])],
    ids=["one", "two", "three"],
)
def test_confidence_looks_at_no_separator(flags: list[int], expected: list[float], make: Any) -> None:
    pattern = np.array([[[0.1, 0.2, 0.7], [0.2, 0.3, 0.5], [0.1, 0.7, 0.2]]])
    found = statistic("confidence", pattern, np.array(flags, np.uint8), np.ones(3, bool), make)
    np.testing.assert_allclose(found, expected)


@LIBRARIES
@pytest.mark.parametrize(("keys", "tokens"), [(1, 1), (3, 3), (3, 8)])
def test_participation_counts_the_keys_among_which_a_row_is_split_evenly(keys: int, tokens: int, make: Any) -> None:
    pattern = np.zeros((1, tokens, tokens))
    pattern[..., :keys] = 1 / keys
    found = statistic("participation", pattern, np.zeros(tokens, np.uint8), np.ones(tokens, bool), make)
    np.testing.assert_allclose(found, keys)


@LIBRARIES
@pytest.mark.parametrize(("weight", "expected"), [(SINK, 0), (SINK + 1e-6, SINK + 1e-6)])
def test_a_sink_gets_more_than_the_threshold_of_its_sentence(weight: float, expected: float, make: Any) -> None:
    row = np.array([weight, *[(1 - weight) / 7] * 7])
    found = statistic("to_sink", np.tile(row, (1, 8, 1)), np.zeros(8, np.uint8), np.ones(8, bool), make)
    np.testing.assert_allclose(found, expected)


@LIBRARIES
@pytest.mark.parametrize(("weight", "expected"), [(0.49, 0), (0.51, 0.51)])
def test_a_sink_of_three_tokens_gets_half_more_than_uniform_attention_gives(
    weight: float, expected: float, make: Any
) -> None:
    row = np.array([weight, *[(1 - weight) / 2] * 2])
    found = statistic("to_sink", np.tile(row, (1, 3, 1)), np.zeros(3, np.uint8), np.ones(3, bool), make)
    np.testing.assert_allclose(found, expected)


@LIBRARIES
def test_shares_by_norm_are_those_by_weight_where_all_norms_are_equal(make: Any) -> None:
    pattern = np.random.default_rng(0).dirichlet(np.ones(4), size=(1, 4))
    flags = np.array([CLS, 0, PUNCTUATION, SEP], np.uint8)
    for name in ("to_cls", "to_sep", "to_punctuation", "to_self"):
        expected = statistic(name, pattern, flags, np.ones(4, bool), make)
        found = statistic(f"norm_{name}", pattern, flags, np.ones(4, bool), make, np.full((1, 4), 3.0))
        np.testing.assert_allclose(found, expected)


@LIBRARIES
def test_a_row_that_hands_on_nothing_has_no_shares_by_norm(make: Any) -> None:
    found = statistic("norm_to_cls", PATTERN, FLAGS, np.ones(3, bool), make, np.zeros((1, 3)))
    np.testing.assert_array_equal(found, 0)


@LIBRARIES
def test_other_symbols_are_not_punctuation(make: Any) -> None:
    pattern = np.full((1, 4, 4), 0.25)
    flags = np.array([CLS, SYMBOL, PUNCTUATION, SEP], np.uint8)
    np.testing.assert_allclose(statistic("to_punctuation", pattern, flags, np.ones(4, bool), make), 0.25)


@LIBRARIES
def test_statistics_of_a_batch_are_those_of_its_sentences(make: Any) -> None:
    pattern = np.random.default_rng(0).dirichlet(np.ones(4), size=(3, 2, 4))
    flags, real = np.array([[CLS, 0, 0, SEP]] * 3, np.uint8), np.ones((3, 4), bool)
    norm = 1 + np.arange(24.0).reshape(3, 2, 4)
    together = np.asarray(token_statistics(make(pattern), make(flags), make(real), make(norm)))
    for sentence in range(3):
        alone = token_statistics(*(make(array[sentence]) for array in (pattern, flags, real, norm)))
        np.testing.assert_allclose(together[:, sentence], np.asarray(alone))


@LIBRARIES
@pytest.mark.parametrize("tokens", [1, 2, 7, 128])
def test_entropy_of_uniform_attention_is_the_logarithm_of_the_tokens(tokens: int, make: Any) -> None:
    np.testing.assert_allclose(np.asarray(entropy(make(np.full((tokens, tokens), 1 / tokens)))), np.log(tokens))


@LIBRARIES
def test_entropy_is_that_of_scipy(make: Any) -> None:
    rows = np.random.default_rng(0).dirichlet(np.full(30, 0.05), size=200)
    np.testing.assert_allclose(np.asarray(entropy(make(rows))), scipy.stats.entropy(rows, axis=-1), atol=1e-12)


@LIBRARIES
def test_entropy_of_one_attended_key_is_zero(make: Any) -> None:
    assert float(entropy(make(np.array([0.0, 1.0, 0.0])))) == 0


@LIBRARIES
def test_distance_of_uniform_attention_is_the_mean_distance(make: Any) -> None:
    pattern = np.full((5, 5), 0.2)
    expected = [np.mean([abs(i - j) for j in range(5)]) for i in range(5)]
    np.testing.assert_allclose(np.asarray(attention_distance(make(pattern))), expected)


@LIBRARIES
def test_received_of_uniform_attention_is_one(make: Any) -> None:
    found = statistic("received", np.full((1, 6, 6), 1 / 6), np.zeros(6, np.uint8), np.ones(6, bool), make)
    np.testing.assert_allclose(found, 1)


@LIBRARIES
def test_a_key_counts_as_attended_only_above_the_threshold(make: Any) -> None:
    row = np.array([ATTENDED, np.nextafter(ATTENDED, 1), 0.0, 1 - 2 * ATTENDED])
    found = statistic("attended_keys", np.tile(row, (1, 4, 1)), np.zeros(4, np.uint8), np.ones(4, bool), make)
    np.testing.assert_array_equal(found, 2)


@LIBRARIES
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("all", [1, 1, 1, 1, 1, 0]),
        ("cls", [1, 0, 0, 0, 0, 0]),
        ("sep", [0, 0, 0, 0, 1, 0]),
        ("punctuation", [0, 0, 1, 0, 0, 0]),
        ("word", [0, 1, 0, 0, 0, 0]),
        ("other", [1, 1, 1, 1, 0, 0]),
    ],
)
def test_rows_of_a_source_are_those_of_its_tokens(source: str, expected: list[int], make: Any) -> None:
    """[CLS] word . ! [SEP] and a place of padding whose flags are empty, as in a batch."""
    flags = np.array([[CLS, 0, PUNCTUATION, SYMBOL, SEP, 0]], np.uint8)
    rows = source_rows(make(flags), make(np.array([[True] * 5 + [False]])))
    np.testing.assert_array_equal(np.asarray(rows)[SOURCES.index(source), 0], np.array(expected, bool))
