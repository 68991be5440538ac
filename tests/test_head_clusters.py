"""Clusters of the head map: dots that lie together, the traits that set them apart, and the places of their names."""

import numpy as np
import plotly.graph_objects as go
import pytest

from dashboard.head_map.clusters import (
    LETTER,
    Box,
    Traits,
    clustered,
    draw_clusters,
    head_clusters,
    name_of,
    named_clusters,
    outline,
    placed_names,
    silhouette,
    units_per_pixel,
)
from store import Corpus

GROUPS = np.array([[0, 0], [10, 0], [0, 10]])
#: Three groups of four dots, far from each other.
DOTS = (GROUPS[:, None] + np.array([[0, 0], [0.5, 0], [0, 0.5], [0.5, 0.5]])).reshape(-1, 2).astype(float)
OF_GROUP = np.repeat([0, 1, 2], 4)
TRAITS = Traits(["[CLS]", "next token"], np.array([np.repeat([0.6, 0.1, 0.1], 4), np.repeat([0.2, 0.3, 0.2], 4)]))


def test_dots_that_lie_together_are_a_cluster() -> None:
    found = clustered(DOTS)
    assert [len(np.unique(found[group == OF_GROUP])) for group in range(3)] == [1, 1, 1]
    assert len(np.unique(found)) == 3


def test_the_silhouette_is_that_of_scikit_learn() -> None:
    from sklearn.metrics import silhouette_score

    places = np.random.default_rng(0).normal(size=(20, 2))
    cluster = np.arange(20) % 3
    distances = np.linalg.norm(places[:, None] - places, axis=-1)
    assert silhouette(distances, cluster) == pytest.approx(silhouette_score(places, cluster))


def test_a_cluster_is_named_by_what_its_heads_attend_to_more_than_the_others() -> None:
    assert name_of(TRAITS, OF_GROUP == 0) == "[CLS] 60%"


def test_a_cluster_without_a_larger_share_has_no_name() -> None:
    assert name_of(TRAITS, OF_GROUP == 2) == ""


def test_every_cluster_has_the_heads_that_lie_in_it() -> None:
    found = sorted((cluster.heads.tolist(), cluster.name) for cluster in named_clusters(DOTS, TRAITS))
    assert found == [([0, 1, 2, 3], "[CLS] 60%"), ([4, 5, 6, 7], "next token 30%"), ([8, 9, 10, 11], "")]


def test_a_model_with_few_heads_has_no_clusters(tiny_corpus: Corpus) -> None:
    assert [cluster for cluster in head_clusters(tiny_corpus) if len(cluster.heads) < 3] == []


def test_an_outline_goes_round_its_dots() -> None:
    low, high = outline(DOTS[:4], 0.1).min(axis=0), outline(DOTS[:4], 0.1).max(axis=0)
    assert low.tolist() == pytest.approx([-0.1, -0.1])
    assert high.tolist() == pytest.approx([0.6, 0.6])


def boxes(texts: list[str], taken: list[Box]) -> list[Box]:
    unit = units_per_pixel(DOTS)
    outlines = [outline(DOTS[group == OF_GROUP], unit) for group in range(3)]
    placed = placed_names(texts, outlines, DOTS, unit, taken)
    half = [(LETTER * unit * len(name.text) / 2, name) for name in placed]
    return [Box(name.x - wide, name.y - 0.1, name.x + wide, name.y + 0.1) for wide, name in half]


def test_no_name_stands_over_another_or_over_dots() -> None:
    placed = boxes(["all words evenly 33%", "content words 13%", "[CLS] 64%"], [])
    assert [one.overlaps(other) for one in placed for other in placed if one is not other] == [0.0] * 6
    assert [box.holds(DOTS) for box in placed] == [0, 0, 0]


def test_a_name_that_would_stand_in_other_clusters_stands_in_the_free_part_of_its_own() -> None:
    """A ring of dots has other clusters on all sides: its name stands in its middle."""
    turn = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    sides = [ring + place for place in ((3, 0), (-3, 0), (0, 3), (0, -3), (3, 3), (-3, 3), (3, -3), (-3, -3))]
    dots = np.concatenate([ring, *sides])
    outlines = [outline(each, 0.5) for each in (ring, *sides)]
    (name,) = placed_names(["mixed", *[""] * 8], outlines, dots, units_per_pixel(dots), [])
    assert (name.x, name.y) == pytest.approx((0, 0))


def test_a_name_leaves_what_is_taken() -> None:
    (free,) = boxes(["[CLS] 64%", "", ""], [])
    (moved,) = boxes(["[CLS] 64%", "", ""], [free])
    assert moved.overlaps(free) == 0


def test_the_map_draws_and_names_every_cluster_also_one_that_nothing_sets_apart() -> None:
    figure = go.Figure()
    draw_clusters(figure, DOTS, list(named_clusters(DOTS, TRAITS)))
    assert len(figure.layout.shapes) == 3
    assert sorted(name.text for name in figure.layout.annotations) == ["[CLS] 60%", "mixed", "next token 30%"]
