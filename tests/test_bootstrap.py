"""`store.kernels.intervals`, against scipy's bootstrap and the normal approximation."""

import numpy as np
import pytest
import scipy.stats

from store.kernels.intervals import REPLICATES, Replicates, ShareReplicates, draw_counts, find_segments

LENGTHS = np.array([2, 3, 1])
#: Rows of a source: the second of the first sentence, first and last of the second, none of the third.
ROWS = np.array([False, True, True, False, True, False])


def replicates() -> Replicates:
    """Replicates of one source, statistic, layer and head."""
    return Replicates(sources=1, statistics=1, layers=1, heads=1)


def add(into: Replicates, means: np.ndarray, counts: np.ndarray) -> None:
    """Add sentences of one row each with these means."""
    segments = find_segments(np.ones(len(means), bool), np.ones(len(means), int))
    into.count(0, segments, counts)
    into.add(0, 0, segments.means(means[None, None]), counts)


def interval(means: np.ndarray, *, seed: int = 0) -> np.ndarray:
    drawn_replicates = replicates()
    add(drawn_replicates, means, draw_counts(seed, 0, len(means)))
    return drawn_replicates.interval().ravel()


@pytest.fixture
def skewed() -> np.ndarray:
    """Means of 800 sentences, few of them large, as means of attention to [SEP] are."""
    return np.random.default_rng(0).beta(0.5, 3, 800)


def test_an_interval_is_that_of_scipys_bootstrap(skewed: np.ndarray) -> None:
    other = scipy.stats.bootstrap(
        (skewed,), np.mean, n_resamples=5000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    # The percentiles of 500 replicates are themselves known to about a ninth of a standard error.
    error = skewed.std() / len(skewed) ** 0.5
    np.testing.assert_allclose(interval(skewed), [other.low, other.high], atol=0.35 * error)


@pytest.mark.parametrize("seed", range(5))
def test_an_interval_of_many_sentences_is_the_normal_one(seed: int) -> None:
    means = np.random.default_rng(seed).normal(0.4, 0.1, 2000)
    error = means.std(ddof=1) / len(means) ** 0.5
    expected = scipy.stats.norm.interval(0.95, means.mean(), error)
    np.testing.assert_allclose(interval(means, seed=seed), expected, atol=0.35 * error)


def test_an_interval_contains_its_mean(skewed: np.ndarray) -> None:
    low, high = interval(skewed)
    assert low < skewed.mean() < high


def test_intervals_hold_the_true_mean_about_as_often_as_they_say() -> None:
    draw = np.random.default_rng(3)
    bounds = np.array([interval(draw.beta(2, 5, 300), seed=seed) for seed in range(200)])
    held = ((bounds[:, 0] < 2 / 7) & (bounds[:, 1] > 2 / 7)).mean()
    assert 0.9 <= held <= 0.99


def test_one_seed_gives_the_same_bit_for_bit(skewed: np.ndarray) -> None:
    np.testing.assert_array_equal(interval(skewed), interval(skewed))


def test_another_seed_or_block_gives_another_draw() -> None:
    draws = [draw_counts(seed, block, 50) for seed, block in ((0, 0), (1, 0), (0, 1), (-1, 0))]
    assert all((draw != other).any() for place, draw in enumerate(draws) for other in draws[:place])


def test_a_draw_has_the_mean_and_the_variance_of_poisson() -> None:
    draws = draw_counts(0, 0, 400)
    np.testing.assert_allclose([draws.mean(), draws.var()], 1, atol=0.02)


def test_sums_do_not_depend_on_where_blocks_end(skewed: np.ndarray) -> None:
    whole, parts = replicates(), replicates()
    counts = draw_counts(0, 0, len(skewed))
    add(whole, skewed, counts)
    for part in (slice(0, 100), slice(100, 101), slice(101, None)):
        add(parts, skewed[part], counts[part])
    np.testing.assert_allclose(parts.interval(), whole.interval(), rtol=1e-6)


def test_sums_take_no_more_room_with_more_blocks(skewed: np.ndarray) -> None:
    drawn_replicates = replicates()
    before = drawn_replicates.sums.nbytes, drawn_replicates.counts.nbytes
    for block in range(3):
        add(drawn_replicates, skewed, draw_counts(0, block, len(skewed)))
    assert (drawn_replicates.sums.nbytes, drawn_replicates.counts.nbytes) == before


@pytest.mark.parametrize("sentences", [0, 1])
def test_too_few_sentences_have_no_interval(sentences: int) -> None:
    assert np.isnan(interval(np.full(sentences, 0.5))).all()


def test_the_interval_of_a_source_counts_only_sentences_with_its_rows() -> None:
    values = np.random.default_rng(0).random((1, 1, 300)).astype(np.float32)
    rows, lengths = np.arange(300) % 3 == 0, np.full(100, 3)
    segments, counts, drawn_replicates = find_segments(rows, lengths), draw_counts(0, 0, 100), replicates()
    drawn_replicates.count(0, segments, counts)
    drawn_replicates.add(0, 0, segments.means(values), counts[segments.sentences])
    np.testing.assert_allclose(drawn_replicates.interval().ravel(), interval(values[0, 0, ::3]), rtol=1e-6)


def test_means_are_over_a_sentences_own_rows() -> None:
    means = find_segments(ROWS, LENGTHS).means(np.array([[9.0, 2.0, 4.0, 9.0, 6.0, 9.0]]))
    np.testing.assert_array_equal(means, [[2, (4 + 6) / 2]])


def test_sentences_without_rows_are_left_out() -> None:
    np.testing.assert_array_equal(find_segments(ROWS, LENGTHS).sentences, [0, 1])


def test_a_replicate_that_draws_no_sentence_does_not_count() -> None:
    drawn_replicates = replicates()
    counts = np.zeros((2, REPLICATES))
    counts[:, ::2] = 1
    add(drawn_replicates, np.array([0.25, 0.75]), counts)
    np.testing.assert_allclose(drawn_replicates.interval().ravel(), 0.5)


@pytest.mark.parametrize(("sentences", "known"), [([0, 0, 0], False), ([0, 0, 1], True)])
def test_a_share_of_items_of_a_single_sentence_has_no_interval(sentences: list[int], known: bool) -> None:
    shares = ShareReplicates(())
    shares.add(np.array([1, 0, 1]), np.array(sentences), draw_counts(0, 0, 2))
    assert np.isfinite(shares.interval()).all() == known
