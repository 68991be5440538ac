"""Weights that pages show of a sentence, against sums, products and filters written out here."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.sentence.sentence import PatternOptions, Sentence, ShownPattern, parse_options, shown_pattern
from dashboard.web.state import PAIRS
from tests.sentences import PIECES, a_pair, one_sentence

POSITIONS = st.lists(st.integers(0, 12), max_size=6).map(lambda positions: tuple(sorted(set(positions))))
OPTIONS = st.builds(
    PatternOptions,
    weights=st.sampled_from(["attention", "norm"]),
    pair=st.sampled_from(PAIRS),
    hide=POSITIONS,
    special=st.booleans(),
    renormalize=st.booleans(),
    words=st.booleans(),
    rollout=st.sampled_from([None, "1"]),
)


@pytest.fixture(scope="module")
def pair() -> Sentence:
    return a_pair()


def names(shown: ShownPattern) -> tuple[list[str], list[str]]:
    return [unit.name for unit in shown.units], [unit.name for unit in shown.keys]


def test_by_default_the_pattern_itself_is_shown(pair: Sentence) -> None:
    shown = shown_pattern(pair, PatternOptions())
    np.testing.assert_array_equal(shown.weights, pair.pattern)
    assert names(shown) == (list(PIECES), list(PIECES))


def test_norms_weigh_what_is_handed_on_of_each_key(pair: Sentence) -> None:
    shown = shown_pattern(pair, PatternOptions(weights="norm"))
    expected = pair.pattern[1, 2, 4, 6] * pair.value_norm[1, 2, 6]
    assert shown.weights[1, 2, 4, 6] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("sides", "rows", "columns"), [("aa", (0, 6), (0, 6)), ("ab", (0, 6), (6, 9)), ("ba", (6, 9), (0, 6))]
)
def test_a_pair_filter_keeps_queries_of_one_and_keys_of_the_other(
    pair: Sentence, sides: str, rows: tuple[int, int], columns: tuple[int, int]
) -> None:
    shown = shown_pattern(pair, parse_options({"pair": sides}))
    np.testing.assert_array_equal(shown.weights, pair.pattern[:, :, slice(*rows), slice(*columns)])


def test_a_sentence_without_a_second_is_shown_whole_by_every_pair_filter() -> None:
    sentence = one_sentence(tokens=5)
    np.testing.assert_array_equal(shown_pattern(sentence, PatternOptions(pair="bb")).weights, sentence.pattern)


def test_a_hidden_position_is_neither_query_nor_key(pair: Sentence) -> None:
    shown = shown_pattern(pair, PatternOptions(hide=(1, 7)))
    shown_positions = [0, 2, 3, 4, 5, 6, 8]
    np.testing.assert_array_equal(shown.weights, pair.pattern[:, :, shown_positions][..., shown_positions])


def test_special_tokens_can_be_left_out(pair: Sentence) -> None:
    assert names(shown_pattern(pair, PatternOptions(special=False)))[0] == ["the", "zan", "##y", "film", "was", "good"]


def test_words_are_written_whole_and_special_tokens_stay_apart(pair: Sentence) -> None:
    shown = shown_pattern(pair, PatternOptions(words=True))
    assert names(shown)[0] == ["[CLS]", "the", "zany", "film", "[SEP]", "was", "good", "[SEP]"]
    assert shown.units[2].positions == (2, 3)


def test_attention_between_words_is_a_mean_of_sums(pair: Sentence) -> None:
    shown, pattern = shown_pattern(pair, PatternOptions(words=True)), pair.pattern[1, 0]
    assert shown.weights[1, 0, 1, 2] == pytest.approx(pattern[1, 2] + pattern[1, 3], rel=1e-5)
    assert shown.weights[1, 0, 2, 1] == pytest.approx((pattern[2, 1] + pattern[3, 1]) / 2, rel=1e-5)


@pytest.mark.parametrize("position", [2, 3])
def test_a_word_is_hidden_with_any_of_its_wordpieces(pair: Sentence, position: int) -> None:
    shown = shown_pattern(pair, PatternOptions(words=True, hide=(position,)))
    assert names(shown)[0] == ["[CLS]", "the", "film", "[SEP]", "was", "good", "[SEP]"]


def test_norms_are_weighed_before_wordpieces_are_merged(pair: Sentence) -> None:
    weighed = pair.pattern[0, 1, 1] * pair.value_norm[0, 1]
    shown = shown_pattern(pair, PatternOptions(weights="norm", words=True))
    assert shown.weights[0, 1, 1, 2] == pytest.approx(weighed[2] + weighed[3], rel=1e-5)


def test_renormalized_rows_sum_to_one(pair: Sentence) -> None:
    shown = shown_pattern(pair, PatternOptions(hide=(0,), renormalize=True))
    expected = pair.pattern[0, 0, 1, 1:] / pair.pattern[0, 0, 1, 1:].sum()
    np.testing.assert_allclose(shown.weights[0, 0, 0], expected, rtol=1e-5)


def test_a_row_with_nothing_left_stays_zero() -> None:
    """Every query attends to the first token alone, which is hidden."""
    sentence = one_sentence(layers=1, heads=1, tokens=3)
    query, key = np.zeros((2, 1, 1, 3, 4), np.float32)
    query[..., 0], key[0, 0, 0, 0] = 1e3, 1e3
    shown = shown_pattern(replace(sentence, query=query, key=key), PatternOptions(hide=(0,), renormalize=True))
    np.testing.assert_array_equal(shown.weights, np.zeros((1, 1, 2, 2)))


def test_a_rollout_has_one_head_and_starts_with_half_of_the_mean(pair: Sentence) -> None:
    shown = shown_pattern(pair, PatternOptions(rollout="1"))
    assert shown.weights.shape == (2, 1, 9, 9)
    expected = 0.5 * pair.pattern[0].mean(axis=0) + 0.5 * np.eye(9)
    np.testing.assert_allclose(shown.weights[0, 0], expected, rtol=1e-5, atol=1e-7)


def test_a_rollout_is_not_weighed_by_norms(pair: Sentence) -> None:
    weighed, plain = (shown_pattern(pair, PatternOptions(weights=kind, rollout="1")) for kind in ("norm", "attention"))
    np.testing.assert_array_equal(weighed.weights, plain.weights)


def test_hiding_everything_leaves_nothing(pair: Sentence) -> None:
    shown = shown_pattern(pair, PatternOptions(hide=tuple(range(9)), renormalize=True))
    assert (shown.units, shown.keys, shown.weights.shape) == ((), (), (2, 3, 0, 0))


@given(options=OPTIONS, layer=st.integers(0, 1))
def test_one_layer_has_the_same_weights_as_among_all_layers(options: PatternOptions, layer: int) -> None:
    single, every = shown_pattern(a_pair(), options, layer=layer), shown_pattern(a_pair(), options)
    np.testing.assert_allclose(single.weights[0], every.weights[layer], rtol=1e-5, atol=1e-7)
    assert names(single) == names(every)


@given(options=OPTIONS)
def test_weights_stand_between_the_units_and_are_never_negative(options: PatternOptions) -> None:
    shown = shown_pattern(a_pair(), options)
    assert shown.weights.shape == (2, 1 if options.rollout else 3, len(shown.units), len(shown.keys))
    assert (shown.weights >= 0).all()


@given(words=st.booleans(), rollout=st.sampled_from([None, "1"]))
def test_rows_of_attention_words_and_rollout_sum_to_one(words: bool, rollout: str | None) -> None:
    shown = shown_pattern(a_pair(), PatternOptions(words=words, rollout=rollout))
    np.testing.assert_allclose(shown.weights.sum(axis=-1), 1, rtol=1e-5)


@given(options=OPTIONS)
def test_renormalized_rows_sum_to_one_where_anything_is_left(options: PatternOptions) -> None:
    shown = shown_pattern(a_pair(), replace(options, renormalize=True))
    if shown.keys:
        np.testing.assert_allclose(shown.weights.sum(axis=-1), 1, rtol=1e-5)


@given(options=OPTIONS)
def test_shares_are_never_above_one(options: PatternOptions) -> None:
    if options.shares:
        assert (shown_pattern(a_pair(), options).weights <= 1 + 1e-5).all()


@given(options=OPTIONS)
def test_a_showing_survives_its_link(options: PatternOptions) -> None:
    assert parse_options(options.fields) == options


def test_a_link_leaves_defaults_out() -> None:
    assert PatternOptions().fields == {}
    assert PatternOptions(weights="norm", hide=(0, 5), special=False, words=True).fields == {
        "weights": "norm",
        "hide": "0.5",
        "special": "0",
        "words": "1",
    }


@given(given=st.dictionaries(st.sampled_from(["weights", "pair", "hide", "special", "words"]), st.text(max_size=30)))
def test_a_hostile_link_shows_something(given: dict[str, str]) -> None:
    assert shown_pattern(a_pair(), parse_options(given)).weights.ndim == 4


@pytest.mark.parametrize("hide", ["x", "-1", "²", "99999", "1e3", "..", "1,2"])
def test_positions_that_cannot_be_are_not_hidden(hide: str) -> None:
    assert parse_options({"hide": hide}).hide == ()
