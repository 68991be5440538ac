"""Clusters of a picture and their names: against clouds made by hand, and the formula written out."""

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.pages import TOPICS
from dashboard.points.density import (
    PRIOR,
    Cluster,
    clusters_of_head,
    density_of,
    log_odds,
    name_of,
    over_represented,
    regions,
)
from dashboard.points.page import clusters_table
from dashboard.web.context import resolve
from dashboard.web.served_store import ServedStore
from store.schema.corpus import CONTINUATION

VOCABULARY = np.array(["the", "film", "##s", ",", "of"], object)
TEXTS = np.array(["the", "film", "s", ",", "of"], object)


def tokens(ids: list[int], positions: list[int], flags: int = 0) -> Any:
    """Drawn tokens, made by hand."""
    columns = {
        "token_id": np.array(ids),
        "position": np.array(positions),
        "token_flags": np.where(np.array(ids) == 2, CONTINUATION, flags),
    }
    return SimpleNamespace(of_tokens=columns.__getitem__, corpus=SimpleNamespace(vocab=VOCABULARY, piece_texts=TEXTS))


def test_log_odds_are_those_of_monroe_et_al() -> None:
    inside, outside = np.array([40, 10]), np.array([60, 290])
    ratio, deviations = log_odds(inside, outside)
    alpha = PRIOR * 100 / 400
    own, rest = 40 + alpha, 60 + alpha
    expected = np.log(own / (50 + PRIOR - own)) - np.log(rest / (350 + PRIOR - rest))
    assert ratio[0] == pytest.approx(expected)
    assert deviations[0] == pytest.approx(expected / np.sqrt(1 / own + 1 / rest))
    assert ratio[1] < 0


def test_what_a_group_has_as_often_as_the_rest_is_not_over_represented() -> None:
    codes = np.tile([0, 1, 2, 3], 500)
    assert over_represented(codes, np.arange(2_000) < 1_000) == []


def test_a_group_is_named_by_its_wordpieces_the_most_certain_first() -> None:
    ids = [1] * 300 + [3] * 100 + [0] * 100 + [0, 4] * 2_000
    drawn = tokens(ids, [5] * len(ids))
    assert name_of(drawn, np.arange(len(ids)) < 500) == "film · comma"


def test_a_wordpiece_that_makes_most_of_a_group_suffices() -> None:
    ids = [1] * 450 + [3] * 50 + [0, 4] * 2_000
    assert name_of(tokens(ids, [5] * len(ids)), np.arange(len(ids)) < 500) == "film"


def test_a_group_of_many_wordpieces_is_named_by_its_positions() -> None:
    ids = [0, 4] * 2_000
    drawn = tokens(ids, [9] * 500 + [1, 30] * 1_750)
    assert name_of(drawn, np.arange(4_000) < 500) == "positions 8-15"


def test_a_group_like_the_rest_has_no_name() -> None:
    ids = [0, 4] * 2_000
    assert name_of(tokens(ids, [5] * 4_000), np.arange(4_000) < 500) == ""


def test_every_peak_of_density_is_a_region_and_their_points_are_counted() -> None:
    generator = np.random.default_rng(0)
    centres = np.array([[0.2, 0.2], [0.8, 0.2], [0.5, 0.8]])
    places = np.concatenate([generator.normal(centre, 0.03, size=(2_000, 2)) for centre in centres])
    density = density_of(places)
    found = sorted(
        tuple(places[region.ravel()[density.cell]].mean(axis=0).round(1).tolist()) for region in regions(density)
    )
    assert found == [(0.2, 0.2), (0.5, 0.8), (0.8, 0.2)]


def test_a_cloud_with_one_peak_is_one_region() -> None:
    assert len(regions(density_of(np.random.default_rng(0).normal(0.5, 0.1, size=(20_000, 2))))) == 1


def test_the_clusters_of_a_head_have_names_places_and_sizes(client: FlaskClient, base: str) -> None:
    (clusters,) = client.get(f"{base}/clusters/pca-exact-2d/1/0.json").json
    for cluster in clusters:
        assert cluster["name"]
        assert 0 < cluster["points"] <= cluster["of"] / 2
        assert all(0 <= place <= 1 for place in cluster["place"])
    assert [cluster["points"] for cluster in clusters] == sorted((c["points"] for c in clusters), reverse=True)


def test_the_page_lists_the_clusters_of_each_shown_head(tiny_store: str) -> None:
    context = resolve(ServedStore(tiny_store), "/head", "?layer=1&head=0&clusters=1&pinned=0-1")
    below = str(TOPICS["head"].layout(context).below)
    assert re.findall(r"L\d H\d: \d+ named cluster", below) == [
        f"{name}: {len(clusters_of_head(context.corpus, 'pca-exact-2d', context.corpus.n_tokens, *head))} named cluster"
        for name, head in (("L1 H0", (1, 0)), ("L0 H1", (0, 1)))
    ]


def test_a_cluster_is_listed_with_its_share_of_the_points_of_its_role() -> None:
    table = str(clusters_table("L1 H0", [Cluster(1, "film · movie", 30, 120, (0.5, 0.5))]))
    for said in ("L1 H0: 1 named cluster", "film · movie", "25.0%"):
        assert said in table
