"""Dot products and distances of pairs, against loops and scipy."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr

from dashboard.points import distance
from dashboard.points.distance import Agreement, Density, _correlations
from dashboard.web.results import Cache
from store import Corpus, StoreError
from store.schema.pictures import NORMALIZATIONS


def density(*of: Any, **shown: Any) -> Density:
    """The density of pairs, computed anew."""
    return Cache(0).run(distance.density, *of, **shown)


def by_hand(corpus: Corpus, normalization: str) -> tuple[list[float], list[float]]:
    """Dot product and distance of every pair of every sentence in L1 H0."""
    constants = corpus.normalizations.sel(normalization=normalization, layer=1, head=0)
    dots, distances = [], []
    for sentence in range(corpus.n_sentences):
        rows = corpus.sentence_rows(sentence)
        queries, keys = (array[1, 0, rows].values.astype(float) for array in (corpus.query, corpus.key))
        for q in queries:
            for k in keys:
                moved_q, moved_k = q * float(constants.scale), k / float(constants["scale"]) + constants["shift"].values
                square = ((moved_q - moved_k) ** 2).sum()
                if normalization == "exact":
                    square += max(float(constants.radius) ** 2 - (moved_k**2).sum(), 0)
                dots.append(q @ k)
                distances.append(square**0.5)
    return dots, distances


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_every_pair_is_counted_where_it_is(two_views: Corpus, normalization: str) -> None:
    pairs = density(two_views, layer=1, head=0, normalization=normalization)
    dots, distances = by_hand(two_views, normalization)
    expected, *_ = np.histogram2d(dots, distances, bins=(pairs.dots, pairs.distances))
    assert (pairs.pairs, pairs.sentences) == (len(dots), two_views.n_sentences)
    assert np.abs(pairs.counts - expected).sum() <= 4  # rounding decides for a pair on a border
    assert pairs.agreement.pearson == pytest.approx(pearsonr(dots, distances)[0])


@pytest.mark.parametrize("normalization", ["raw", "scaled"])
def test_the_stored_correlation_is_that_of_the_normalisation(two_views: Corpus, normalization: str) -> None:
    pairs = density(two_views, layer=1, head=0, normalization=normalization)
    stored = two_views.normalizations.sel(layer=1, head=0, normalization=normalization)
    assert pairs.agreement.spearman == stored.spearman


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        (
            (-0.5, -0.25, -0.75),
            "Linear correlation −0.50; on held-out sentences near-pair correlation −0.25, rank correlation −0.75.",
        ),
        ((-0.5, np.nan, -0.75), "Linear correlation −0.50; on held-out sentences rank correlation −0.75."),
        ((np.nan, np.nan, -0.75), "On held-out sentences rank correlation −0.75."),
        ((-0.5, np.nan, np.nan), "Linear correlation −0.50."),
    ],
)
def test_correlations_that_are_not_known_are_left_out(numbers: tuple[float, float, float], text: str) -> None:
    assert _correlations(Agreement(*numbers)) == text


def test_no_more_pairs_are_read_than_are_shown(two_views: Corpus) -> None:
    sizes = two_views.sentences.row_size.values.astype(int)
    pairs = density(two_views, layer=0, head=0, normalization="raw", most=int((sizes[:3] ** 2).sum()) + 1)
    assert (pairs.pairs, pairs.sentences) == ((sizes[:3] ** 2).sum(), 3)


def test_one_long_sentence_is_cut(two_views: Corpus) -> None:
    assert density(two_views, layer=0, head=0, normalization="raw", most=7).counts.sum() == 7


def test_an_unknown_normalisation_is_refused(two_views: Corpus) -> None:
    with pytest.raises(StoreError, match="Choose one of raw"):
        density(two_views, layer=0, head=0, normalization="magic")
