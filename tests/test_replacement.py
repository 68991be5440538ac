"""Replacements for the pattern of a head, and the change of vectors: `store.kernels.replacement` and `store.replacement`."""

from typing import Any

import numpy as np
import pytest
import scipy.stats
from scipy.spatial.distance import pdist, squareform

from store import Corpus, open_corpus
from store.kernels.bias import AttentionBias, LayerBias, Mask
from store.kernels.intervals import draw_counts
from store.kernels.replacement import FARTHEST, MeanPatterns, VectorChange, spearman
from store.kernels.rules import RULES
from store.replacement import RulePatterns, RuleReader, checked_heads, judged_sentences
from store.repository.errors import StoreError
from store.schema.corpus import CLS, SEP

LENGTHS = (4, 9, 30, 31)


def flags_of(tokens: int) -> np.ndarray:
    return np.array([CLS, *[0] * (tokens - 2), SEP], np.uint8)


def sentences(seed: int = 0, heads: int = 3) -> list[tuple[np.ndarray, np.ndarray]]:
    chance = np.random.default_rng(seed)
    return [(chance.dirichlet(np.ones(size), (heads, size)), flags_of(size)) for size in LENGTHS]


def cell(query: int, key: int, tokens: int) -> tuple[int, int, int]:
    """Class of the query, class of the key and offset of a pair, computed anew."""
    kinds = [0 if place == 0 else 1 if place == tokens - 1 else 2 for place in (query, key)]
    return kinds[0], kinds[1], max(-FARTHEST, min(FARTHEST, key - query))


def test_a_mean_pattern_is_the_mean_weight_by_class_and_offset() -> None:
    total: dict[tuple[int, int, int], list[float]] = {}
    for pattern, flags in sentences():
        for query, key in np.ndindex(pattern.shape[1:]):
            total.setdefault(cell(query, key, len(flags)), []).append(pattern[1, query, key] * len(flags))
    expected = np.array([[np.mean(total[cell(query, key, 30)]) for key in range(30)] for query in range(30)])
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(MeanPatterns.of(sentences()).patterns([1], flags_of(30))[0], expected, rtol=0.01)


def test_a_pair_at_an_offset_that_was_never_met_has_the_mean_of_its_classes() -> None:
    """The head attends to the last token alone."""
    last = [(np.tile(np.eye(size)[-1], (1, size, 1)), flags_of(size)) for size in LENGTHS]
    found = MeanPatterns.of(last).patterns([0], flags_of(12))[0]
    np.testing.assert_allclose(found[:, -1], 1, atol=1e-3)


def test_classes_that_were_never_met_are_even() -> None:
    found = MeanPatterns.of([(np.eye(2)[None], flags_of(2))]).patterns([0], np.zeros(5, np.uint8))[0]
    np.testing.assert_allclose(found, 0.2)


def test_heads_that_are_even_over_the_keys_that_they_see_stay_so() -> None:
    """The heads are a causal one, and one of a layer with a window."""
    bias = AttentionBias([LayerBias(Mask(causal=True)), LayerBias(Mask(window=3))])

    def even(size: int) -> np.ndarray:
        away = np.arange(size) - np.arange(size)[:, None]
        seen = np.array([away <= 0, abs(away) <= 3])
        return np.asarray(seen / seen.sum(axis=-1, keepdims=True))

    found = MeanPatterns.of([(even(size), flags_of(size)) for size in LENGTHS], bias).patterns([1, 0], flags_of(20))
    np.testing.assert_allclose(found[1, -1], 0.05, rtol=1e-6)
    np.testing.assert_allclose(found, even(20)[::-1], rtol=1e-6)


def vectors(seed: int = 0, sentences: int = 12) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(sentences, 7))


def test_vectors_change_as_scipy_says() -> None:
    before, after = vectors(), vectors() + 0.4 * vectors(1)
    found = VectorChange.of(before, after)
    own, other = pdist(before, "cosine"), pdist(after, "cosine")
    expected = [scipy.spatial.distance.cosine(*pair) for pair in zip(before, after, strict=True)]
    np.testing.assert_allclose(found.changes, expected, atol=1e-12)
    assert found.distance == pytest.approx(own.mean())
    assert found.spearman == pytest.approx(scipy.stats.spearmanr(own, other).statistic)
    nearest = [(squareform(each) + 9 * np.eye(12)).argmin(axis=1) for each in (own, other)]
    assert found.nearest == pytest.approx((nearest[0] == nearest[1]).mean())
    assert found.share == pytest.approx(found.mean / found.distance)


def test_equal_values_have_their_mean_rank() -> None:
    own, other = np.array([1.0, 2, 2, 3, 3, 3]), np.array([2.0, 1, 5, 5, 4, 9])
    assert spearman(own, other) == pytest.approx(scipy.stats.spearmanr(own, other).statistic)
    assert np.isnan(spearman(own, np.ones(6)))


@pytest.mark.parametrize("sentences", [2, 3])
def test_the_interval_of_sentences_that_all_change_the_same_has_no_width(sentences: int) -> None:
    found = VectorChange(np.full(sentences, 0.2), 1, 1, 1).interval(draw_counts(0, 0, sentences))
    assert found == pytest.approx((0.2, 0.2))


def test_a_single_sentence_has_no_interval() -> None:
    assert np.isnan(VectorChange(np.array([0.2]), 1, 1, 1).interval(draw_counts(0, 0, 1))).all()


HEADS = [(0, 1), (1, 0)]


@pytest.mark.parametrize("heads", [zip(*np.array(HEADS).T, strict=True), np.array(HEADS), [*HEADS, (0, 1)]])
def test_heads_are_read_from_anything_that_gives_pairs(heads: Any, tiny_corpus: Corpus) -> None:
    assert checked_heads(tiny_corpus, heads) == HEADS


@pytest.mark.parametrize("heads", [(0, 1), 3, [(0, 1, 2)], "01"])
def test_what_is_no_pair_is_no_head(heads: Any, tiny_corpus: Corpus) -> None:
    with pytest.raises(StoreError, match=r"A head is a pair .* such as \[\(0, 1\)\]"):
        checked_heads(tiny_corpus, heads)


def test_the_interval_holds_the_mean() -> None:
    found = VectorChange.of(vectors(), vectors() + 0.4 * vectors(1))
    low, high = found.interval(draw_counts(0, 0, 12))
    assert low < found.mean < high


def test_a_single_sentence_has_no_distance() -> None:
    found = VectorChange.of(vectors(sentences=1), vectors(1, 1))
    assert np.isnan([found.distance, found.spearman, found.nearest]).all()
    assert found.mean > 0


# -- of a corpus ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpus(roles_store: str) -> Corpus:
    return open_corpus(roles_store)


def test_a_sample_is_of_sentences_that_no_rule_was_fitted_on(corpus: Corpus) -> None:
    chosen = judged_sentences(corpus, 5)
    assert len(chosen) == 5
    assert set(chosen) <= set(corpus.rule_sentences.judged) - set(corpus.rule_sentences.fitted)


def test_a_store_without_roles_gives_every_other_sentence(tiny_corpus: Corpus) -> None:
    np.testing.assert_array_equal(judged_sentences(tiny_corpus, 3), [1, 3, 5])


def test_mean_patterns_of_a_corpus_are_of_the_sentences_of_the_fit(corpus: Corpus) -> None:
    flags = corpus.tokens.token_flags.values
    own = [
        (corpus.weights(index).reshape(-1, *corpus.weights(index).shape[2:]), flags[corpus.sentence_rows(index)])
        for index in corpus.rule_sentences.fitted.tolist()
    ]
    np.testing.assert_allclose(corpus.mean_patterns.weight, MeanPatterns.of(own).weight, rtol=1e-6)


def test_rules_predict_of_many_heads_what_they_predict_of_each(corpus: Corpus) -> None:
    heads, sentences = [(1, 1), (0, 0), (1, 0)], judged_sentences(corpus, 4)
    steps: list[str] = []
    rules = RulePatterns(RuleReader(corpus, sentences), heads, steps.append)
    assert len(steps) == len(heads)
    for sentence in sentences.tolist():
        expected = [corpus.predicted_pattern(sentence, layer=layer, head=head).values for layer, head in heads]
        np.testing.assert_array_equal(rules.patterns(sentence), expected)


def test_some_head_uses_rules_and_a_table(corpus: Corpus) -> None:
    chosen = {name for name in corpus.rules.chosen.values.ravel().tolist() if name}
    assert chosen & RULES.keys()
    assert chosen - RULES.keys()
