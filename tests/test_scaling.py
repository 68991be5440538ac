"""`ingest.projections.normalizations` and the weighted correlation, against a naive reading of the paper and finer searches."""

from collections.abc import Callable

import numpy as np
import pytest

from ingest.encode.sample import JUDGED_TOKENS, beginnings
from ingest.projections import normalizations
from ingest.projections.normalizations import (
    STEP,
    Constants,
    Pairs,
    choose_scaling,
    correlations,
    dot_products,
    judge,
    pair_distances,
)
from store.kernels.projection import normalized, weighted_correlation

Points = tuple[np.ndarray, np.ndarray]
#: Tokens of each of 160 sentences: 144,000 pairs, of which the nearest 0.5% are 720.
SIZES = np.full(160, 30)


def naive(dot: np.ndarray, distance: np.ndarray) -> float:
    """AttentionViz's weighted correlation: a percentile, and numpy's own weighted covariance."""
    threshold = np.percentile(distance, 0.5)
    near = distance < threshold
    weight = (threshold - distance[near]) ** 2
    matrix = np.cov(dot[near], distance[near], aweights=weight)
    return matrix[0, 1] / np.sqrt(matrix[0, 0] * matrix[1, 1])


@pytest.fixture(scope="module")
def head() -> Points:
    """Queries and keys; at c = 1/4 each query is nearest to its own key, at a distance given by q.k: |4 q / 4|^2 + |k / 4 * 4|^2 is 2."""
    random = np.random.default_rng(0)
    axes = np.linalg.qr(random.standard_normal((160, 32, 32)))[0][:, :30].reshape(-1, 32)
    angle, extra = random.uniform(0, 0.8, (4800, 1)), random.uniform(-0.6, 0.6, (4800, 1))
    aside = np.roll(axes, 1, axis=0)
    query = (1 + extra) ** 0.5 * axes
    key = (1 - extra) ** 0.5 * (np.cos(angle) * axes + np.sin(angle) * aside)
    return 4 * query, key / 4


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return Pairs.within(SIZES)


def correlation_of(head: Points, pairs: Pairs, scale: float, shift: np.ndarray) -> float:
    """Weighted correlation of q.k with the distance of q c and k / c + shift, over all pairs."""
    query, key = (vectors[places] for vectors, places in zip(head, (pairs.query, pairs.key), strict=True))
    return naive((query * key).sum(axis=-1), np.linalg.norm(query * scale - key / scale - shift, axis=-1))


@pytest.mark.parametrize("seed", range(5))
def test_weighted_correlation_is_that_of_numpys_weighted_covariance(seed: int) -> None:
    random = np.random.default_rng(seed)
    dot = random.standard_normal(100_000)
    distance = np.abs(5 - dot + random.standard_normal(100_000))
    correlation, _ = weighted_correlation(dot, distance)
    assert correlation == pytest.approx(naive(dot, distance), abs=0.005)


def test_weighted_correlation_of_pairs_on_a_line_is_minus_one() -> None:
    dot = np.random.default_rng(0).standard_normal(100_000)
    assert weighted_correlation(dot, 9 - dot)[0] == pytest.approx(-1)


def test_weighted_correlation_looks_at_the_nearest_pairs_only() -> None:
    dot = np.random.default_rng(0).standard_normal(100_000)
    distance = 9 - dot
    far = distance > np.quantile(distance, 0.1)
    assert weighted_correlation(np.where(far, 77, dot), distance) == weighted_correlation(dot, distance)


@pytest.mark.parametrize(("pairs", "enough"), [(39_000, False), (41_000, True)])
def test_below_200_pairs_there_is_no_correlation(pairs: int, enough: bool) -> None:
    dot = np.random.default_rng(0).standard_normal(pairs)
    correlation, behind = weighted_correlation(dot, 9 - dot)
    assert (behind >= 200, not np.isnan(correlation)) == (enough, enough)


def test_where_nothing_varies_there_is_no_correlation() -> None:
    assert np.isnan(weighted_correlation(np.ones(100_000), np.arange(100_000.0))[0])


def test_weighted_correlation_takes_many_heads_at_once() -> None:
    random = np.random.default_rng(0)
    dot, distance = random.standard_normal((3, 50_000)), random.random((3, 50_000))
    one_by_one = [weighted_correlation(*both)[0] for both in zip(dot, distance, strict=True)]
    np.testing.assert_allclose(weighted_correlation(dot, distance)[0], one_by_one, rtol=1e-9)


def test_pairs_are_all_pairs_within_sentences() -> None:
    pairs = Pairs.within(np.array([2, 1, 3]))
    expected = [(i, j) for rows in (range(2), range(2, 3), range(3, 6)) for i in rows for j in rows]
    assert list(zip(pairs.query.tolist(), pairs.key.tolist(), strict=True)) == expected
    assert pairs.tokens == 6


def test_of_a_long_sentence_an_even_part_of_the_pairs_is_taken() -> None:
    pairs = Pairs.within(np.array([2, 1000, 3]), most=500)
    assert len(pairs.query) == 500
    assert (pairs.query.min(), pairs.query.max(), pairs.key.max()) == (0, 1001, 1001)
    assert len(np.unique(pairs.query)) > 400
    assert abs(np.mean(pairs.key) - 501) < 30


def test_pairs_end_with_the_sentence_that_makes_them_enough() -> None:
    assert Pairs.within(np.array([2, 2, 2]), most=5).tokens == 4


def test_the_scale_that_was_built_in_is_found(head: Points, pairs: Pairs) -> None:
    chosen = choose_scaling(*head, pairs)
    assert chosen.scale == pytest.approx(1 / 4)
    assert chosen.correlation < -0.9


@pytest.mark.parametrize("stretch", [2.0**-4, 2.0**2])
def test_queries_that_are_longer_want_a_c_that_is_smaller_by_the_root(
    stretch: float, head: Points, pairs: Pairs
) -> None:
    query, key = head
    chosen, other = choose_scaling(query, key, pairs), choose_scaling(query * stretch, key, pairs)
    assert other.scale * stretch**0.5 == pytest.approx(chosen.scale)
    assert other.correlation == pytest.approx(chosen.correlation)


@pytest.mark.parametrize(("wanted", "scale"), [(2.0**2, 2.0**2), (2.0**5, 2.0**5), (2.0**-7, 2.0**-7)])
def test_the_grid_is_widened_until_it_holds_the_best(wanted: float, scale: float) -> None:
    """Keys are 0 and queries have length 1, so that the distance is c."""
    query = np.array([[1.0, 0], [-1, 0]])
    chosen = choose_scaling(query, 0 * query, Pairs.within(np.array([2])), correlate=peak_at(wanted))
    assert chosen.scale == pytest.approx(scale)


@pytest.mark.parametrize("wanted", [2.0**30, 2.0**-30])
def test_the_grid_is_not_widened_for_ever(wanted: float) -> None:
    query = np.array([[1.0, 0], [-1, 0]])
    scale = choose_scaling(query, 0 * query, Pairs.within(np.array([2])), correlate=peak_at(wanted)).scale
    assert 8 <= abs(np.log2(scale)) <= (normalizations.WIDEST + normalizations.WIDENED) / 4


def peak_at(wanted: float) -> Callable[[np.ndarray, np.ndarray], tuple[float, int]]:
    """A correlation that is best where the mean distance is the wanted one."""

    def correlation(_: np.ndarray, distance: np.ndarray) -> tuple[float, int]:
        return -1 / (1 + abs(np.log2(distance.mean() / wanted))), 1000

    return correlation


def test_the_choice_is_never_worse_than_no_scaling(head: Points, pairs: Pairs) -> None:
    query, key = head
    centroid = query.mean(axis=0) - key.mean(axis=0)
    best = choose_scaling(query, key, pairs).correlation
    for shift in (np.zeros(32), centroid):
        assert best <= correlation_of(head, pairs, 1, shift) + 0.005


def test_the_choice_has_the_correlation_that_it_says(head: Points, pairs: Pairs) -> None:
    chosen = choose_scaling(*head, pairs)
    assert correlation_of(head, pairs, chosen.scale, chosen.shift) == pytest.approx(chosen.correlation, abs=0.005)


def test_a_ten_times_finer_grid_finds_nothing_better(head: Points, pairs: Pairs) -> None:
    coarse, fine = choose_scaling(*head, pairs), choose_scaling(*head, pairs, finer=10)
    assert coarse.correlation == pytest.approx(fine.correlation, abs=0.01)


def test_with_too_few_pairs_c_is_one_and_the_centres_are_brought_together(head: Points) -> None:
    query, key = (vectors[:60] for vectors in head)
    chosen = choose_scaling(query, key, Pairs.within(np.array([30, 30])))
    assert (chosen.scale, np.isnan(chosen.correlation)) == (1, True)
    np.testing.assert_allclose(chosen.shift, query.mean(axis=0) - key.mean(axis=0))


def test_the_correlations_of_the_grid_are_those_of_its_candidates(head: Points, pairs: Pairs) -> None:
    """`shared` moves the keys before it divides: (k + shift) / c."""
    shift = np.linspace(-0.1, 0.1, 32)
    curve = correlations(*head, shift, pairs)
    assert curve.shape == (25,)
    for step in (-8, 0, 5):
        scale = STEP**step
        expected = correlation_of(head, pairs, scale, shift / scale)
        assert curve[step + normalizations.GRID] == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("radius", [None, 20.0])
def test_distances_of_pairs_are_those_of_their_vectors(radius: float | None) -> None:
    random = np.random.default_rng(4)
    query, key, pairs = *random.standard_normal((2, 9, 5)), Pairs.within(np.array([4, 5]))
    shift = random.standard_normal(5) if radius is None else np.zeros(5)
    moved = normalized(
        query, key, scale=np.array(1.5), shift=shift, radius=None if radius is None else np.array(radius)
    )
    distance = pair_distances(*moved, shift, dot_products(query, key, pairs), pairs)
    expected = np.linalg.norm(moved[0][pairs.query] - moved[1][pairs.key], axis=-1)
    np.testing.assert_allclose(distance, expected)


def test_a_single_pair_has_no_correlation() -> None:
    correlation, pairs = weighted_correlation(np.ones(1), np.ones(1))
    assert np.isnan(correlation)
    assert pairs == 0


def test_queries_that_are_judged_apart_have_the_same_correlation() -> None:
    random = np.random.default_rng(0)
    query, key = random.standard_normal((2, 3, 17, 4))
    constants = [Constants(np.full(3, scale), np.zeros((3, 4))) for scale in (1.0, 2.0)]
    whole, apart = (judge(query, key, constants, np.array([5, 12]), together=weights) for weights in (1 << 20, 40))
    np.testing.assert_allclose(apart, whole, atol=1e-12)


def test_the_first_tokens_of_a_long_sentence_judge_a_fit() -> None:
    spans = np.array([[0, JUDGED_TOKENS + 88], [JUDGED_TOKENS + 88, JUDGED_TOKENS + 90]])
    np.testing.assert_array_equal(beginnings(spans), [[0, JUDGED_TOKENS], [JUDGED_TOKENS + 88, JUDGED_TOKENS + 90]])
