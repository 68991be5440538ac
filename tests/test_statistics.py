"""`store.kernels.statistics` against hand-made cases, loops and scipy."""

from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from store.kernels.bias import Mask
from store.kernels.statistics import (
    ATTENDED,
    SINK,
    attention_distance,
    entropy,
    mean_over_sentences,
    offset_profile,
    row_weights,
    source_rows,
    spread_between_heads,
    sum_over_sentences,
    summed_pattern,
    token_statistics,
)
from store.schema.corpus import CLS, PUNCTUATION, SEP, SYMBOL
from store.schema.model import OFFSETS, SOURCES, STATISTICS
from tests import definitions

LIBRARIES = pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])

#: Flags of [CLS] . [SEP].
FLAGS = np.array([CLS, PUNCTUATION, SEP], np.uint8)
#: ||f(x)|| of the three tokens.
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
    """A statistic of the only head (token,); all norms are 1 unless given."""
    norms = np.ones((1, len(flags))) if norm is None else norm
    computed = token_statistics(make(pattern), make(flags), make(real), make(norms))
    return np.asarray(computed)[list(STATISTICS).index(name), 0]


@LIBRARIES
@pytest.mark.parametrize("name", list(STATISTICS))
def test_statistic_of_three_tokens_is_what_one_gets_by_hand(name: str, make: Any) -> None:
    numbers = statistic(name, PATTERN, FLAGS, np.ones(3, bool), make, NORM)
    np.testing.assert_allclose(numbers, BY_HAND[name], rtol=1e-5)


@LIBRARIES
@pytest.mark.parametrize("name", list(STATISTICS))
def test_padding_is_never_counted(name: str, make: Any) -> None:
    """Two tokens of padding follow the sentence; their rows attend to real tokens, as in BERT."""
    pattern = np.zeros((1, 5, 5))
    pattern[:, :3, :3], pattern[:, 3:, :3] = PATTERN, 1 / 3
    flags, real = np.array([*FLAGS, 0, 0], np.uint8), np.array([True, True, True, False, False])
    numbers = statistic(name, pattern, flags, real, make, np.array([[*NORM[0], 7.0, 9.0]]))
    np.testing.assert_allclose(numbers[:3], BY_HAND[name], rtol=1e-5)


@LIBRARIES
def test_attention_to_sep_adds_up_over_both_separators(make: Any) -> None:
    pattern = np.tile([0.1, 0.2, 0.3, 0.4], (1, 4, 1))
    flags = np.array([CLS, SEP, 0, SEP], np.uint8)
    numbers = statistic("to_sep", pattern, flags, np.ones(4, bool), make)
    np.testing.assert_allclose(numbers, 0.2 + 0.4)


@LIBRARIES
@pytest.mark.parametrize(
    ("flags", "expected"),
    [([CLS, 0, SEP], [0.2, 0.3, 0.4]), ([CLS, SEP, SEP], [0.5, 0.9, 0.5]), ([SEP, SEP, SEP], [1, 1, 1])],
    ids=["one", "two", "three"],
)
def test_every_separator_counts_once(flags: list[int], expected: list[float], make: Any) -> None:
    pattern = np.array([[[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.5, 0.1, 0.4]]])
    for name in ("to_sep", "norm_to_sep"):
        numbers = statistic(name, pattern, np.array(flags, np.uint8), np.ones(3, bool), make)
        np.testing.assert_allclose(numbers, expected)


@LIBRARIES
@pytest.mark.parametrize(
    ("flags", "expected"),
    [([CLS, 0, SEP], [0.2, 0.3, 0.7]), ([CLS, SEP, SEP], [0.1, 0.2, 0.1]), ([SEP, SEP, SEP], [0, 0, 0])],
    ids=["one", "two", "three"],
)
def test_confidence_looks_at_no_separator(flags: list[int], expected: list[float], make: Any) -> None:
    pattern = np.array([[[0.1, 0.2, 0.7], [0.2, 0.3, 0.5], [0.1, 0.7, 0.2]]])
    numbers = statistic("confidence", pattern, np.array(flags, np.uint8), np.ones(3, bool), make)
    np.testing.assert_allclose(numbers, expected)


@LIBRARIES
@pytest.mark.parametrize(("keys", "tokens"), [(1, 1), (3, 3), (3, 8)])
def test_participation_counts_the_keys_among_which_a_row_is_split_evenly(keys: int, tokens: int, make: Any) -> None:
    pattern = np.zeros((1, tokens, tokens))
    pattern[..., :keys] = 1 / keys
    numbers = statistic("participation", pattern, np.zeros(tokens, np.uint8), np.ones(tokens, bool), make)
    np.testing.assert_allclose(numbers, keys)


@LIBRARIES
@pytest.mark.parametrize(("weight", "expected"), [(SINK, 0), (SINK + 1e-6, SINK + 1e-6)])
def test_a_sink_gets_more_than_the_threshold_of_its_sentence(weight: float, expected: float, make: Any) -> None:
    row = np.array([weight, *[(1 - weight) / 7] * 7])
    numbers = statistic("to_sink", np.tile(row, (1, 8, 1)), np.zeros(8, np.uint8), np.ones(8, bool), make)
    np.testing.assert_allclose(numbers, expected)


@LIBRARIES
@pytest.mark.parametrize(("weight", "expected"), [(0.49, 0), (0.51, 0.51)])
def test_a_sink_of_three_tokens_gets_half_more_than_uniform_attention_gives(
    weight: float, expected: float, make: Any
) -> None:
    row = np.array([weight, *[(1 - weight) / 2] * 2])
    numbers = statistic("to_sink", np.tile(row, (1, 3, 1)), np.zeros(3, np.uint8), np.ones(3, bool), make)
    np.testing.assert_allclose(numbers, expected)


@LIBRARIES
@pytest.mark.parametrize("tokens", [1, 2, 3, 5, 9, 17, 18, 30])
def test_even_attention_to_earlier_tokens_has_no_sink(tokens: int, make: Any) -> None:
    """The first token gets 1 + 1/2 + 1/3 of three queries, more than 0.3 of them and more than 1.5."""
    seen = np.tri(tokens)
    even = (seen / seen.sum(axis=1, keepdims=True))[None]
    given = make(even), make(np.zeros(tokens, np.uint8)), make(np.ones(tokens, bool)), make(np.ones((1, tokens)))
    numbers = token_statistics(*given, Mask(causal=True))
    np.testing.assert_array_equal(np.asarray(numbers)[list(STATISTICS).index("to_sink")], 0)


@LIBRARIES
def test_a_sink_of_earlier_tokens_gets_half_more_than_even_attention_gives(make: Any) -> None:
    """The first of two tokens gets at most 2, and by even attention 1.5."""
    for tokens, weight, expected in ((2, 1, 0), (5, 0.9, 0.9)):
        pattern = np.eye(tokens) * (1 - weight)
        pattern[:, 0] += weight
        given = make(pattern[None]), make(np.zeros(tokens, np.uint8)), make(np.ones(tokens, bool))
        numbers = token_statistics(*given, make(np.ones((1, tokens))), Mask(causal=True))
        found = np.asarray(numbers)[list(STATISTICS).index("to_sink")][0, -1]
        assert found == pytest.approx(expected)


@LIBRARIES
def test_shares_by_norm_are_those_by_weight_where_all_norms_are_equal(make: Any) -> None:
    pattern = np.random.default_rng(0).dirichlet(np.ones(4), size=(1, 4))
    flags = np.array([CLS, 0, PUNCTUATION, SEP], np.uint8)
    for name in ("to_cls", "to_sep", "to_punctuation", "to_self"):
        expected = statistic(name, pattern, flags, np.ones(4, bool), make)
        numbers = statistic(f"norm_{name}", pattern, flags, np.ones(4, bool), make, np.full((1, 4), 3.0))
        np.testing.assert_allclose(numbers, expected)


@LIBRARIES
def test_a_row_that_hands_on_nothing_has_no_shares_by_norm(make: Any) -> None:
    numbers = statistic("norm_to_cls", PATTERN, FLAGS, np.ones(3, bool), make, np.zeros((1, 3)))
    np.testing.assert_array_equal(numbers, 0)


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
    numbers = statistic("received", np.full((1, 6, 6), 1 / 6), np.zeros(6, np.uint8), np.ones(6, bool), make)
    np.testing.assert_allclose(numbers, 1)


@LIBRARIES
def test_a_key_counts_as_attended_only_above_the_threshold(make: Any) -> None:
    row = np.array([ATTENDED, np.nextafter(ATTENDED, 1), 0.0, 1 - 2 * ATTENDED])
    numbers = statistic("attended_keys", np.tile(row, (1, 4, 1)), np.zeros(4, np.uint8), np.ones(4, bool), make)
    np.testing.assert_array_equal(numbers, 2)


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
    """The tokens are [CLS] word . ! [SEP] and a padding token with empty flags, as in a batch."""
    flags = np.array([[CLS, 0, PUNCTUATION, SYMBOL, SEP, 0]], np.uint8)
    rows = source_rows(make(flags), make(np.array([[True] * 5 + [False]])))
    np.testing.assert_array_equal(np.asarray(rows)[SOURCES.index(source), 0], np.array(expected, bool))


# -- profiles by relative position --------------------------------------------------------------------


def patterns(sentences: int, heads: int, tokens: int) -> np.ndarray:
    return np.random.default_rng(tokens).dirichlet(np.ones(tokens), size=(sentences, heads, tokens))


def profile(pattern: np.ndarray, real: np.ndarray, make: Any) -> np.ndarray:
    """Profile by relative position: (offset, head)."""
    return np.asarray(offset_profile(summed_pattern(make(pattern), make(real))))


def padded(pattern: np.ndarray, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """The patterns with padding, whose rows attend to real tokens as in BERT, and a mask of real tokens."""
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
    shares = profile(patterns(2, 3, tokens), np.ones((2, tokens), bool), make)
    np.testing.assert_allclose(shares.sum(axis=0), 2)


@LIBRARIES
def test_a_profile_of_three_tokens_computed_by_hand(make: Any) -> None:
    pattern = np.array([[[[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.96, 0.04, 0.0]]]])
    shares = dict(zip(OFFSETS, profile(pattern, np.ones((1, 3), bool), make)[:, 0], strict=True))
    expected = {-2: 0.96 / 3, -1: 0.14 / 3, 0: 1.1 / 3, 1: 0.6 / 3, 2: 0.2 / 3}
    assert shares == pytest.approx({offset: expected.get(offset, 0) for offset in OFFSETS})


@LIBRARIES
@pytest.mark.parametrize(("distance", "offset"), [(10, 10), (11, 11), (12, 11), (-10, -10), (-11, -11), (-19, -11)])
def test_keys_farther_than_ten_tokens_share_the_outermost_offsets(distance: int, offset: int, make: Any) -> None:
    pattern = np.eye(20)
    query, key = (0, distance) if distance > 0 else (19, 19 + distance)
    pattern[query] = np.eye(20)[key]
    shares = profile(pattern[None, None], np.ones((1, 20), bool), make)[:, 0]
    np.testing.assert_allclose(shares[OFFSETS.index(offset)], 1 / 20)


@LIBRARIES
def test_padding_has_no_part_in_a_profile(make: Any) -> None:
    pattern = patterns(2, 3, 5)
    np.testing.assert_allclose(
        profile(*padded(pattern, 13), make), profile(pattern, np.ones((2, 5), bool), make), atol=1e-12
    )


@LIBRARIES
def test_columns_of_the_sum_are_the_mean_weights_on_a_position(make: Any) -> None:
    pattern = patterns(4, 2, 6)
    total = np.asarray(summed_pattern(make(pattern), make(np.ones((4, 6), bool)))).sum(axis=1)
    for position in range(6):
        expected = sum(sentence[:, :, position].mean(axis=1) for sentence in pattern)
        np.testing.assert_allclose(total[:, position], expected)


@LIBRARIES
def test_padding_neither_gives_nor_receives_attention(make: Any) -> None:
    pattern = patterns(2, 3, 5)
    wide, real = padded(pattern, 9)
    total = np.asarray(summed_pattern(make(wide), make(real)))
    np.testing.assert_allclose(total[:, :5, :5], pattern.sum(axis=0) / 5)
    assert not total[:, 5:].any()
    assert not total[:, :, 5:].any()


# -- means over sentences -----------------------------------------------------------------------------


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
def test_attention_from_separators_is_averaged_over_the_separators_of_the_sentence(
    flags: list[int], expected: float
) -> None:
    """Clark's code always divides by 2."""
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


def no_attention() -> xr.DataArray:
    """Statistics of two heads that are all 0."""
    return xr.DataArray(
        np.zeros((1, len(STATISTICS), 1, 2)),
        dims=("source", "statistic", "layer", "head"),
        coords={"source": ["all"], "statistic": list(STATISTICS)},
    )


def test_the_difference_between_heads_is_their_deviation_as_a_share_of_the_range_of_a_row() -> None:
    means = no_attention()
    for statistic, values in {"to_sep": (0, 1), "entropy": (0, np.log(3)), "participation": (1, 3)}.items():
        means.loc["all", statistic] = [values]
    spread = spread_between_heads(means, np.array([3, 3]))
    assert {name: round(value, 6) for name, value in spread.items() if value} == dict.fromkeys(
        ("to_sep", "entropy", "participation"), 0.5
    )
    assert "received" not in spread


def test_heads_do_not_differ_on_sentences_of_one_token() -> None:
    assert {*spread_between_heads(no_attention(), np.array([1, 1])).values()} == {0}


def test_heads_that_see_no_later_token_differ_by_the_range_of_their_rows() -> None:
    means = no_attention()
    # Queries see 1, 2 and 3 keys, so the means are ln 6 / 3 nats, 1 token of distance and 2 attended keys.
    for statistic, values in {"entropy": (0, np.log(6) / 3), "distance": (0, 1), "attended_keys": (0, 2)}.items():
        means.loc["all", statistic] = [values]
    spread = spread_between_heads(means, np.array([3, 3]), [Mask(causal=True)])
    assert {name: round(value, 6) for name, value in spread.items() if value} == dict.fromkeys(
        ("entropy", "attended_keys", "distance"), 0.5
    )
