"""Differences and divergences between the heads of two models, against scipy and formulas written out."""

from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from scipy.special import softmax

from dashboard.compare.data import (
    DIVERGENCE_TOKENS,
    HEAD_TOKENS,
    changes,
    counterpart_divergence,
    difference,
    divergence_sample,
    head_divergence,
    head_sample,
    ranked_heads,
)
from dashboard.compare.sentences import both_patterns, patterns_table, sentence_divergence
from dashboard.compare.two_models import SEED, ModelPair, mean_interval, sample_of
from dashboard.sentence.sentence import stored_sentence
from store import Corpus
from store.kernels.heads import divergence_sums, row_divergence
from store.kernels.intervals import draw_counts
from store.kernels.statistics import source_rows
from store.schema.model import SOURCES, varying_statistics
from tests.test_divergence import MAKERS


def sentence_means(corpus: Corpus, sentences: int, statistic: str, source: str) -> list[np.ndarray]:
    """Mean of a statistic (layer, head) of every sentence that has rows of the source."""
    values = corpus.token_statistic.sel(statistic=statistic).values.astype(np.float64)
    means = []
    for sentence in range(sentences):
        rows = corpus.sentence_rows(sentence)
        flags = corpus.tokens.token_flags.values[rows]
        chosen = source_rows(flags, np.ones(len(flags), bool))[SOURCES.index(source)]
        if chosen.any():
            means.append(values[..., rows][..., chosen].mean(axis=-1))
    return means


def test_the_accuracy_of_a_fine_tuned_model_stands_beside_that_of_a_guess(alike: ModelPair) -> None:
    measured = {"labels": ["bad", "good"], "held_reviews": 200, "accuracy": 0.845, "most_frequent": 0.5}
    tuned = copy(alike.other)
    tuned.attributes = {**tuned.attributes, "provenance": {"finetuned": measured}}
    assert ModelPair(alike.own, tuned).accuracies() == [
        f"{tuned.title} tells the label of 84.5% of 200 held-out reviews; always guessing the most frequent label: 50.0%."
    ]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("statistic", ["to_cls", "entropy"])
def test_a_difference_is_that_of_the_means_over_sentences(alike: ModelPair, statistic: str, source: str) -> None:
    own, other = (np.array(sentence_means(model, 40, statistic, source)) for model in (alike.own, alike.other))
    compared = difference(alike, statistic, source)
    assert compared.sentences == len(own)
    np.testing.assert_allclose(compared.own, own.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(compared.change.mean, (other - own).mean(axis=0), rtol=1e-4, atol=1e-6)


def bootstrap(values: np.ndarray, replicates: int) -> np.ndarray:
    """Efron's bootstrap: percentiles (2, number) of means over sentences drawn with replacement from (sentence, number)."""
    choose = np.random.default_rng(5)
    drawn = (values[choose.integers(0, len(values), len(values))].mean(axis=0) for _ in range(replicates))
    return np.percentile(list(drawn), (2.5, 97.5), axis=0)


def test_an_interval_is_that_of_a_bootstrap_of_the_pairs() -> None:
    choose = np.random.default_rng(0)
    own = choose.gamma(2, size=(400, 3))
    less = own + 0.1 * choose.normal(size=(400, 3)) + 0.05 - own
    interval = mean_interval(less)
    width = np.subtract(*bootstrap(less, 4000)[::-1])
    np.testing.assert_allclose([interval.low, interval.high], bootstrap(less, 4000), atol=0.1 * width.max())
    np.testing.assert_allclose(interval.mean, less.mean(axis=0))


def test_pairing_makes_an_interval_narrower_than_two_of_their_own() -> None:
    own = np.random.default_rng(1).gamma(2, size=(300, 1))
    paired = mean_interval(own + 0.01 - own)
    alone = mean_interval(own)
    assert float((paired.high - paired.low)[0]) < 0.01 * float((alone.high - alone.low)[0])


def test_intervals_are_the_same_at_every_call() -> None:
    values = np.random.default_rng(2).normal(size=(50, 2, 2))
    np.testing.assert_array_equal(mean_interval(values).low, mean_interval(values).low)


@pytest.mark.parametrize("sentences", [0, 1])
def test_fewer_than_two_sentences_have_no_interval(sentences: int) -> None:
    interval = mean_interval(np.ones((sentences, 2)))
    assert np.isnan([interval.low, interval.high]).all()


def test_the_statistic_that_changed_most_did_so_against_its_spread_among_heads(alike: ModelPair) -> None:
    most = changes(alike, "to_sep", "all").most
    for layer, head in np.ndindex(2, 2):
        sizes = {}
        for name in varying_statistics("all"):
            own, other = (
                model.head_statistic.sel(source="all", statistic=name).values for model in (alike.own, alike.other)
            )
            sizes[name] = abs(other[layer, head] - own[layer, head]) / own.std()
        assert most[layer, head] == max(sizes, key=lambda name: sizes[name])


def test_what_changed_most_of_each_head_has_the_paired_interval_of_its_own_statistic(alike: ModelPair) -> None:
    changed = changes(alike, "to_sep", "all")
    for layer, head in np.ndindex(2, 2):
        own, other = (
            np.array(sentence_means(model, 40, changed.most[layer, head], "all"))[:, layer, head]
            for model in (alike.own, alike.other)
        )
        counts = draw_counts(SEED, 0, 40)
        replicates = [np.average(other - own, weights=weight) for weight in counts.T if weight.any()]
        shown = [getattr(changed.most_difference.change, end)[layer, head] for end in ("mean", "low", "high")]
        expected = [(other - own).mean(), *np.percentile(replicates, (2.5, 97.5))]
        np.testing.assert_allclose(shown, expected, rtol=1e-4, atol=1e-6)


def test_its_means_are_those_it_was_chosen_by_where_all_sentences_are_looked_at(alike: ModelPair) -> None:
    changed = changes(alike, "to_sep", "all")
    for layer, head in np.ndindex(2, 2):
        stored = alike.other.head_statistic.sel(source="all", statistic=changed.most[layer, head]).values[layer, head]
        assert changed.most_difference.other[layer, head] == pytest.approx(stored, rel=2e-3, abs=1e-4)


@pytest.mark.parametrize("by", ["divergence", "statistic"])
def test_heads_are_ranked_by_how_much_they_changed(alike: ModelPair, by: str) -> None:
    changed = changes(alike, "entropy", "all")
    sizes = changed.divergence.mean if by == "divergence" else np.abs(changed.difference.change.mean)
    shown = [sizes[head] for head in ranked_heads(changed, by)]
    assert shown == sorted(sizes.ravel(), reverse=True)


def of_scipy(patterns: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Divergences (..., query) by scipy, of rows smoothed as Clark et al. do."""
    own, other = (0.999 * pattern.astype(np.float64) + 0.001 / pattern.shape[-1] for pattern in (patterns, others))
    return np.nan_to_num(jensenshannon(own, other, base=np.e, axis=-1)) ** 2


def random_patterns(seed: int) -> np.ndarray:
    return softmax(4 * np.random.default_rng(seed).normal(size=(3, 9, 9)), axis=-1)


@MAKERS
def test_the_divergence_of_every_row_is_that_of_scipy(make: Any) -> None:
    first, other = random_patterns(0), random_patterns(1)
    apart = np.asarray(row_divergence(make(first), make(other)))
    np.testing.assert_allclose(apart, of_scipy(first, other), rtol=1e-9)


def test_rows_add_up_to_the_divergence_of_heads() -> None:
    heads = random_patterns(2)
    np.testing.assert_allclose(row_divergence(heads[:1], heads[1:2]).sum(), divergence_sums(heads)[0, 1], rtol=1e-9)


def test_rows_on_different_keys_are_nearly_ln_2_apart() -> None:
    pattern = np.eye(50)
    apart = row_divergence(pattern, np.roll(pattern, 1, axis=1))
    np.testing.assert_allclose(apart, np.log(2), rtol=0.01)
    assert (apart <= np.log(2)).all()


def test_equal_rows_do_not_diverge() -> None:
    np.testing.assert_allclose(row_divergence(random_patterns(3), random_patterns(3)), 0, atol=1e-12)


def test_heads_are_as_far_apart_as_those_of_transformers(
    alike: ModelPair, eager: Callable[[Path], Any], tiny_model: Path, second_model: Path
) -> None:
    apart = counterpart_divergence(alike)
    assert apart.shape == (alike.sentences, 2, 2)
    for sentence in range(0, alike.sentences, 9):
        ids = torch.tensor(alike.own.tokens.token_id.values[alike.own.sentence_rows(sentence)])[None]
        patterns = [
            np.stack([layer[0].detach().numpy() for layer in eager(model)(ids, output_attentions=True).attentions])
            for model in (tiny_model, second_model)
        ]
        np.testing.assert_allclose(apart[sentence], of_scipy(*patterns).mean(axis=-1), atol=2e-3)


def test_a_model_is_not_apart_from_itself(alike: ModelPair) -> None:
    assert counterpart_divergence(ModelPair(alike.own, alike.own)).max() < 1e-6


def test_divergence_of_counterparts_is_cached(alike: ModelPair) -> None:
    assert counterpart_divergence(alike) is counterpart_divergence(alike)


@pytest.mark.parametrize("tokens", [1, 50, 10**9])
def test_a_sample_is_the_first_whole_sentences(unlike: ModelPair, tokens: int) -> None:
    sample = sample_of(unlike, tokens)
    sentences = unlike.own.tokens.sentence_index.values[sample.rows]
    sizes = unlike.own.sentences.row_size.values[: unlike.sentences]
    count = max(1, int((sizes.cumsum() <= tokens).sum()))
    assert np.unique(sentences).tolist() == list(range(count))
    assert sample.tokens == sizes[:count].sum() == len(sentences)
    assert unlike.sentences == 30


def test_one_head_diverges_in_every_sentence_as_scipy_says(alike: ModelPair) -> None:
    apart = head_divergence(alike, 1, 0)
    assert len(apart) == head_sample(alike).sentences == alike.sentences
    values = [of_scipy(*both_patterns(alike, sentence, 1, 0)).mean() for sentence in range(alike.sentences)]
    np.testing.assert_allclose(apart, values, atol=1e-5)


def test_one_head_is_looked_at_in_more_sentences_than_all(alike: ModelPair) -> None:
    few, more = divergence_sample(alike, 30), head_sample(alike, 100)
    assert few.tokens <= 30 < more.tokens <= 100
    assert DIVERGENCE_TOKENS < HEAD_TOKENS


def test_the_sentence_of_the_page_has_the_same_divergence(alike: ModelPair) -> None:
    shown = [sentence_divergence(both_patterns(alike, sentence, 0, 1)) for sentence in range(alike.sentences)]
    np.testing.assert_allclose(head_divergence(alike, 0, 1), shown, rtol=1e-3, atol=1e-6)


def test_patterns_of_both_are_those_of_the_store(alike: ModelPair) -> None:
    wordpieces = stored_sentence(alike.own, 3).wordpieces
    table = patterns_table(wordpieces, both_patterns(alike, 3, 1, 0))
    own, other = (model.pattern(3, layer=1, head=0).values.ravel() for model in (alike.own, alike.other))
    np.testing.assert_allclose(table["a"], own, rtol=1e-5)
    np.testing.assert_allclose(table["difference"], other - own, atol=1e-6)
