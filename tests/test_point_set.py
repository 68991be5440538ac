"""Heads, feature points and either in two models are point sets: whatever is computed for one kind is computed for all."""

import numpy as np
import pytest

from dashboard.features.data import FeaturePanels
from dashboard.features.feature_tokens import FeatureTokens
from dashboard.points.colours import colour_codes, legend
from dashboard.points.head_tokens import HeadTokens
from dashboard.points.point_set import Beside, Condition, PointSet, Selection, mask, values
from store import Corpus

TOKENS = 30
KINDS = ("a head", "every head", "two heads", "a feature point", "every feature point", "a feature point twice")


@pytest.fixture(params=KINDS)
def points(request: pytest.FixtureRequest, tiny_corpus: Corpus) -> PointSet:
    head = HeadTokens(tiny_corpus, TOKENS, 1, 0)
    series = FeaturePanels(tiny_corpus, tiny_corpus.features("sample"))
    point = FeatureTokens(series, TOKENS, series.names[0])
    return {
        "a head": head,
        "every head": HeadTokens(tiny_corpus, TOKENS),
        "two heads": Beside(head, HeadTokens(tiny_corpus, TOKENS, 0, 1)),
        "a feature point": point,
        "every feature point": FeatureTokens(series, TOKENS),
        "a feature point twice": Beside(point, point),
    }[request.param]


def view_of(points: PointSet, corpus: Corpus) -> str:
    return corpus.views[0] if len(points.roles) > 1 else corpus.features("sample").views[0]


def test_every_point_has_a_place_in_the_panel(points: PointSet, tiny_corpus: Corpus) -> None:
    places = points.places(view_of(points, tiny_corpus))
    assert places.shape[1:3] == (TOKENS, len(points.roles))
    assert 0 <= places.min() <= places.max() <= 1


def test_every_column_has_a_value_or_none_for_every_point_and_a_colour(points: PointSet) -> None:
    for column in points.columns.values():
        known = values(column, points)
        assert known.shape[1:] == (TOKENS, len(points.roles))
        assert colour_codes(column, points).shape == known.shape
        assert legend(column, points).rest == column.rest


def test_a_search_a_category_and_no_condition_select_points(points: PointSet) -> None:
    assert mask(points, Selection()).all()
    found = mask(points, Selection("the"))
    np.testing.assert_array_equal(found[0, :, 0], points.matching("the", "token"))
    kind = points.columns["kind"]
    alone = mask(points, Selection(where=(Condition("kind", (kind.category(0),)),)))
    np.testing.assert_array_equal(alone, values(kind, points) == 0)


def test_both_conditions_must_hold(points: PointSet) -> None:
    where = (Condition("kind", (points.columns["kind"].category(5),)),)
    both = mask(points, Selection("the", where=where))
    np.testing.assert_array_equal(both, mask(points, Selection("the")) & mask(points, Selection(where=where)))
