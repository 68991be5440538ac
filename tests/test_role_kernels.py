"""Roles as parts of a mixture, and their tests, against a second implementation and scipy's own tests."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import adjusted_rand_score

from store.kernels.bias import Mask
from store.kernels.roles import (
    OffsetSieve,
    Sieves,
    WordEntries,
    adjusted_rand,
    agreement,
    discoveries,
    explain,
    explained_share,
    fit_mixture,
    main_rules,
    name_roles,
    t_test,
)
from store.kernels.rules import RULES, roles_for, targets_of
from tests.published.roles import is_discovered, mixture_weights, sieve_bias
from tests.ruled import attending, shuffled_sentence, written_sentence

NAMES = [name for name in roles_for(words=False) if RULES[name].breadth != "sink"]


def random_patterns(seed: int, *, heads: int = 2, tokens: int = 13) -> np.ndarray:
    weights = np.random.default_rng(seed).exponential(size=(heads, tokens, tokens)).astype(np.float32) ** 2
    return weights / weights.sum(axis=-1, keepdims=True)


def entries_of(seeds: list[int]) -> tuple[WordEntries, np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of words in shuffled sentences, roles (role, entry), attention between words and the mass of its rows."""
    tokens = [shuffled_sentence(seed) for seed in seeds]
    words = WordEntries.of([each.is_word for each in tokens])
    roles = np.concatenate([targets_of(NAMES, each).reshape(len(NAMES), -1) for each in tokens], axis=1)
    patterns = np.concatenate([random_patterns(seed).reshape(2, -1) for seed in seeds], axis=1)
    return words, words.normalized(roles)[0], *words.normalized(patterns)


@pytest.mark.parametrize("steps", [1, 7])
def test_expectation_maximisation_agrees_with_a_second_implementation(steps: int) -> None:
    words, roles, inner, _ = entries_of([0, 1])
    rows = [slice(start, start + size) for start, size in zip(words.entries.start, words.entries.sizes, strict=True)]
    expected = [
        mixture_weights(
            [roles[:, row].astype(np.float64) for row in rows], [head[row].astype(np.float64) for row in rows], steps
        )
        for head in inner
    ]
    np.testing.assert_allclose(fit_mixture(roles, inner, steps), expected, atol=1e-5)


@pytest.mark.parametrize("made_by", ["previous", "comma", "even", "near"])
def test_a_head_that_attends_by_one_rule_has_this_role(made_by: str) -> None:
    tokens = written_sentence(words=False)
    words = WordEntries.of([tokens.is_word])
    roles, _ = words.normalized(targets_of(NAMES, tokens).reshape(len(NAMES), -1))
    inner, _ = words.normalized(attending(RULES[made_by].targets(tokens), share=1).reshape(1, -1))
    assert NAMES[int(fit_mixture(roles, inner)[0].argmax())] == made_by


def test_a_head_without_attention_between_words_keeps_equal_weights() -> None:
    roles = np.array([[1, 0, 0, 1], [0.5, 0.5, 0.5, 0.5]], np.float32)
    inner = np.array([[0, 0, 0, 0], [1, 0, 0, 1]], np.float32)
    np.testing.assert_allclose(fit_mixture(roles, inner), [[0.5, 0.5], [1, 0]], atol=1e-6)


def test_nothing_explains_a_head_without_attention_between_words() -> None:
    share = explained_share(np.array([0.5, 0.5]), np.array([[0, 0], [0.25, 0.75]]))
    np.testing.assert_allclose(share, [np.nan, 0.75])


@given(st.integers(0, 1000))
def test_weights_and_shares_are_parts_of_a_whole(seed: int) -> None:
    words, roles, inner, mass = entries_of([seed, seed + 1])
    weights = fit_mixture(roles, inner, steps=5)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    explained = explain(weights, roles, inner, mass, words.entries)
    assert explained.shares.min() >= 0
    assert (explained.shares.sum(axis=1) <= mass.mean(axis=1) + 1e-5).all()
    assert (explained.explained <= 1 + 1e-5).all()


def test_what_a_mixture_explains_is_the_smaller_of_weight_and_prediction() -> None:
    words, roles, inner, mass = entries_of([3])
    weights = fit_mixture(roles, inner, steps=5)
    lower = np.minimum(weights @ roles, inner) * words.entries.spread(mass)
    total = explain(weights, roles, inner, mass, words.entries).shares.sum(axis=1)
    np.testing.assert_allclose(total, lower.sum(axis=1) / words.entries.rows, rtol=1e-4)


def test_equal_mixtures_agree_wholly_and_disjoint_ones_not_at_all() -> None:
    one, other = np.array([[0.4, 0.6, 0]]), np.array([[0, 0, 1.0]])
    assert agreement(one, one) == pytest.approx(1)
    assert agreement(one, other) == pytest.approx(0)


def test_the_main_rule_of_a_pair_has_the_largest_part() -> None:
    rules = np.array([[1, 0.2], [0, 0.8]])
    assert main_rules(np.array([0.9, 0.1]), rules).tolist() == [0, 0]
    assert main_rules(np.array([0.5, 0.5]), rules).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([0.81, 0.09, 0.02], "next token 81%, itself 9%"),
        ([0.1, 0.62, 0.05], "itself 62%, next token 10%, commas 5%"),
        ([0.04, 0.03, 0.02], "mixed: no role above 5%"),
    ],
)
def test_a_head_is_named_by_its_largest_roles(shares: list[float], expected: str) -> None:
    assert name_roles(["next token", "itself", "commas"], np.array(shares)) == expected


# -- tests of roles -----------------------------------------------------------------------------------


def test_the_sieve_bias_agrees_with_a_second_implementation() -> None:
    tokens = written_sentence()
    names = ["previous", "governor", "comma", "antecedent"]
    targets = targets_of(names, tokens) > 0
    pattern = random_patterns(5, tokens=len(tokens))
    words = np.flatnonzero(tokens.is_word).tolist()
    expected = [[sieve_bias(head.astype(np.float64), sieve, words) for sieve in targets] for head in pattern]
    np.testing.assert_allclose(Sieves.of(targets, tokens.is_word).bias(pattern), expected, rtol=1e-4)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=40))
def test_the_adjusted_rand_index_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    own, other = np.array(pairs).T
    assert adjusted_rand(own, other) == adjusted_rand_score(own, other)


def test_an_even_head_has_a_bias_of_one() -> None:
    tokens = written_sentence()
    names = ["previous", "governor", "comma"]
    even = np.full((1, len(tokens), len(tokens)), 1 / len(tokens), np.float32)
    np.testing.assert_allclose(Sieves.of(targets_of(names, tokens) > 0, tokens.is_word).bias(even), 1, rtol=1e-5)


def test_a_head_that_attends_evenly_to_earlier_words_has_a_bias_of_one() -> None:
    tokens = replace(written_sentence(), mask=Mask(causal=True))
    seen = np.tri(len(tokens), dtype=np.float32)
    even = (seen / seen.sum(axis=1, keepdims=True))[None]
    targets = targets_of(["previous", "governor", "next"], tokens) > 0
    biases = Sieves.of(targets, tokens.is_word, Mask(causal=True)).bias(even)
    np.testing.assert_allclose(biases[0, :2], 1, rtol=1e-5)
    assert np.isnan(biases[0, 2])


def relation(tokens: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A relation of every second token with the next: for each pair, membership, offset and sentence."""
    place = np.arange(tokens)
    offset = (place - place[:, None]).ravel()
    return (offset == 1) & (np.repeat(place, tokens) % 2 == 0), offset, np.zeros(tokens**2, int)


def test_a_head_that_looks_at_an_offset_has_no_bias_against_it() -> None:
    sieve, offset, sentence = relation(6)
    next_token = np.where(offset == 1, 6, 0).astype(np.float32)[None]
    np.testing.assert_allclose(OffsetSieve.of(sieve, offset, sentence, 1).bias(next_token), 1)


def test_a_head_that_looks_at_the_relation_has_a_bias_against_its_offset() -> None:
    sieve, offset, sentence = relation(6)
    weights = np.where(sieve, 3, 1).astype(np.float32)[None]
    np.testing.assert_allclose(OffsetSieve.of(sieve, offset, sentence, 1).bias(weights), 3)


def test_a_sentence_without_the_relation_does_not_count() -> None:
    sieve, offset, sentence = relation(6)
    assert np.isnan(OffsetSieve.of(sieve & False, offset, sentence, 1).bias(np.ones((1, 36), np.float32))).all()


@pytest.mark.parametrize("threshold", [1.0, 2.0])
def test_probabilities_are_those_of_scipy(threshold: float) -> None:
    biases = np.random.default_rng(0).gamma(2, 1, (3, 20))
    biases[0, :4] = np.nan
    found = t_test(biases, threshold)
    expected = stats.ttest_1samp(biases, threshold, axis=-1, alternative="greater", nan_policy="omit")
    np.testing.assert_allclose(found.p, np.asarray(expected.pvalue), rtol=1e-6)


def test_one_sentence_is_no_test() -> None:
    assert np.isnan(t_test(np.array([[3.0, np.nan]]), 2).p).all()


def test_sentences_that_are_all_alike_leave_no_doubt() -> None:
    assert t_test(np.array([[3.0, 3.0], [1.0, 1.0], [2.0, 2.0]]), 2).p.tolist() == [0, 1, 0.5]


def test_biases_of_one_head_can_be_tested_alone() -> None:
    biases = np.array([1.0, 2.0, 6.0])
    expected = stats.ttest_1samp(biases, 2, alternative="greater").pvalue
    assert float(t_test(biases, 2).p) == pytest.approx(float(expected))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_discoveries_are_those_of_benjamini_and_hochberg(p: list[float]) -> None:
    assert discoveries(np.array(p)).tolist() == is_discovered(p, 0.05)


def test_a_test_without_sentences_counts_for_none() -> None:
    assert discoveries(np.array([np.nan, 0.04])).tolist() == [False, True]
