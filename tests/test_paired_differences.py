"""What changed from one model to another: differences of statistics and their paired intervals, against plain loops."""

import numpy as np
import pytest

from dashboard.compare.data import changes, difference, ranked_heads
from dashboard.compare.two_models import SEED, Two, mean_interval
from dashboard.statistics.definitions import telling
from store import Corpus
from store.kernels.bootstrap import draw_counts
from store.kernels.statistics import source_rows
from store.schema.model import SOURCES


def sentence_means(corpus: Corpus, sentences: int, statistic: str, source: str) -> list[np.ndarray]:
    """Of every sentence with such rows (layer, head)."""
    values = corpus.token_statistic.sel(statistic=statistic).values.astype(np.float64)
    means = []
    for sentence in range(sentences):
        rows = corpus.sentence_rows(sentence)
        flags = corpus.tokens.token_flags.values[rows]
        chosen = source_rows(flags, np.ones(len(flags), bool))[SOURCES.index(source)]
        if chosen.any():
            means.append(values[..., rows][..., chosen].mean(axis=-1))
    return means


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("statistic", ["to_cls", "entropy"])
def test_a_difference_is_that_of_the_means_over_sentences(alike: Two, statistic: str, source: str) -> None:
    own, other = (np.array(sentence_means(one, 40, statistic, source)) for one in (alike.own, alike.other))
    found = difference(alike, statistic, source)
    assert found.sentences == len(own)
    np.testing.assert_allclose(found.own, own.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(found.change.mean, (other - own).mean(axis=0), rtol=1e-4, atol=1e-6)


def bootstrap(values: np.ndarray, replicates: int) -> np.ndarray:
    """Efron's: percentiles (2, number) of the means of sentences drawn with replacement from (sentence, number)."""
    choose = np.random.default_rng(5)
    drawn = (values[choose.integers(0, len(values), len(values))].mean(axis=0) for _ in range(replicates))
    return np.percentile(list(drawn), (2.5, 97.5), axis=0)


def test_an_interval_is_that_of_a_bootstrap_of_the_pairs() -> None:
    choose = np.random.default_rng(0)
    own = choose.gamma(2, size=(400, 3))
    less = own + 0.1 * choose.normal(size=(400, 3)) + 0.05 - own
    found = mean_interval(less)
    width = np.subtract(*bootstrap(less, 4000)[::-1])
    np.testing.assert_allclose([found.low, found.high], bootstrap(less, 4000), atol=0.1 * width.max())
    np.testing.assert_allclose(found.mean, less.mean(axis=0))


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
    found = mean_interval(np.ones((sentences, 2)))
    assert np.isnan([found.low, found.high]).all()


def test_the_statistic_that_changed_most_did_so_against_its_spread_among_heads(alike: Two) -> None:
    found = changes(alike, "to_sep", "all").most
    for layer, head in np.ndindex(2, 2):
        sizes = {}
        for name in telling("all"):
            own, other = (
                one.head_statistic.sel(source="all", statistic=name).values for one in (alike.own, alike.other)
            )
            sizes[name] = abs(other[layer, head] - own[layer, head]) / own.std()
        assert found[layer, head] == max(sizes, key=lambda name: sizes[name])


def test_what_changed_most_of_each_head_has_the_paired_interval_of_its_own_statistic(alike: Two) -> None:
    found = changes(alike, "to_sep", "all")
    for layer, head in np.ndindex(2, 2):
        own, other = (
            np.array(sentence_means(one, 40, found.most[layer, head], "all"))[:, layer, head]
            for one in (alike.own, alike.other)
        )
        counts = draw_counts(SEED, 0, 40)
        replicates = [np.average(other - own, weights=one) for one in counts.T if one.any()]
        shown = [getattr(found.most_difference.change, end)[layer, head] for end in ("mean", "low", "high")]
        expected = [(other - own).mean(), *np.percentile(replicates, (2.5, 97.5))]
        np.testing.assert_allclose(shown, expected, rtol=1e-4, atol=1e-6)


def test_its_means_are_those_it_was_chosen_by_where_all_sentences_are_looked_at(alike: Two) -> None:
    found = changes(alike, "to_sep", "all")
    for layer, head in np.ndindex(2, 2):
        stored = alike.other.head_statistic.sel(source="all", statistic=found.most[layer, head]).values[layer, head]
        assert found.most_difference.other[layer, head] == pytest.approx(stored, rel=2e-3, abs=1e-4)


@pytest.mark.parametrize("by", ["divergence", "statistic"])
def test_heads_are_ranked_by_how_much_they_changed(alike: Two, by: str) -> None:
    found = changes(alike, "entropy", "all")
    sizes = found.divergence.mean if by == "divergence" else np.abs(found.difference.change.mean)
    shown = [sizes[head] for head in ranked_heads(found, by)]
    assert shown == sorted(sizes.ravel(), reverse=True)
