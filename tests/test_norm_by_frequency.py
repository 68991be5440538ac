"""||f(x)|| by frequency: tenths of the tokens against numpy and scipy."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from dashboard.statistics.head_panel import (
    GROUPS,
    NormByFrequency,
    by_frequency,
    group_tokens,
    norm_by_frequency,
    read_norms,
)
from store import Corpus, open_corpus


def of(frequency: list[int], seed: int = 0) -> tuple[np.ndarray, NormByFrequency]:
    norm = np.random.default_rng(seed).random(len(frequency)).astype(np.float16)
    return norm, by_frequency(norm, group_tokens(np.array(frequency)))


def test_tokens_of_different_frequency_fall_into_tenths() -> None:
    assert of(list(range(1, 101)))[1].tokens == [10] * GROUPS


def test_a_group_has_the_median_and_quartiles_of_its_tokens() -> None:
    norm, grouped = of(list(range(1, 101)))
    np.testing.assert_allclose(grouped.quartiles[:, 3], np.percentile(norm[30:40].astype(np.float64), (25, 50, 75)))
    assert (grouped.fewest[3], grouped.most[3], grouped.frequency[3]) == (31, 40, 35.5)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=80))
def test_tokens_of_one_frequency_are_never_parted(frequency: list[int]) -> None:
    grouped = of(frequency)[1]
    assert sum(grouped.tokens) == len(frequency)
    assert all(most < fewest for most, fewest in zip(grouped.most, grouped.fewest[1:], strict=False))


def test_the_correlation_is_of_all_tokens() -> None:
    frequency = [1, 1, 5, 9, 30, 30, 200]
    norm, grouped = of(frequency)
    assert grouped.spearman == pytest.approx(spearmanr(norm, frequency).statistic)


def test_where_all_are_alike_there_is_no_correlation() -> None:
    assert np.isnan(of([7, 7, 7])[1].spearman)


def test_the_tokens_are_those_of_the_corpus(tiny_corpus: Corpus) -> None:
    grouped = norm_by_frequency(tiny_corpus, 1, 0)
    pieces = tiny_corpus.wordpieces(tiny_corpus.rows)
    count = [pieces.count(piece) for piece in pieces]
    norm = tiny_corpus.value_norm.values[1, 0, tiny_corpus.rows].astype(np.float64)
    assert sum(grouped.tokens) == tiny_corpus.n_tokens
    assert grouped.spearman == pytest.approx(spearmanr(norm, count).statistic)


def test_of_a_large_corpus_the_first_tokens_are_a_sample(tiny_store: str) -> None:
    corpus = open_corpus(tiny_store)
    first = corpus.rows[:50]
    norm = corpus.value_norm.values[1, 0, first].astype(np.float64)
    pieces = corpus.wordpieces(corpus.rows)
    grouped = norm_by_frequency(corpus, 1, 0, 50)
    assert sum(grouped.tokens) == 50
    count = [pieces.count(piece) for piece in corpus.wordpieces(first)]
    assert grouped.spearman == pytest.approx(spearmanr(norm, count).statistic)


def test_the_caption_says_of_how_many_tokens(tiny_corpus: Corpus) -> None:
    _, caption, _ = read_norms(tiny_corpus, 1, 0, sampled=50)
    assert f"The first 50 of {tiny_corpus.n_tokens:,} tokens; Spearman" in caption


def test_a_head_is_read_once(tiny_corpus: Corpus) -> None:
    assert norm_by_frequency(tiny_corpus, 0, 1) is norm_by_frequency(tiny_corpus, 0, 1)


def test_cached_results_do_not_keep_a_corpus_open(tiny_store: str) -> None:
    corpus = open_corpus(tiny_store)
    norm_by_frequency(corpus, 0, 0)
    collected = weakref.ref(corpus)
    del corpus
    gc.collect()
    assert collected() is None
