"""Density contours: the shares of the points that they enclose, against known clouds."""

from dataclasses import replace

import numpy as np
import pytest
from flask.testing import FlaskClient

from dashboard.pages import TOPICS, picture_of
from dashboard.points.controls import picture_controls
from dashboard.points.density import CELLS, ENCLOSED, contours, density_of
from dashboard.points.lasso import inside
from dashboard.web.context import Context, resolve
from dashboard.web.served_store import ServedStore


def cloud(points: int = 20_000, spread: float = 0.1) -> np.ndarray:
    return np.random.default_rng(0).normal(0.5, spread, size=(points, 2)).clip(0, 1)


def link(store: str, query: str) -> Context:
    return resolve(ServedStore(store), "/head", f"?layer=1&head=0&{query}")


@pytest.mark.parametrize("share", ENCLOSED)
def test_a_contour_of_a_bell_has_the_radius_at_which_the_bell_has_the_share(share: float) -> None:
    (outline,) = next(contour.lines for contour in contours(cloud(), 0) if contour.share == share)
    radius = np.linalg.norm(np.reshape(outline, (-1, 2)) - 0.5, axis=1).mean()
    assert radius == pytest.approx(0.1 * np.sqrt(-2 * np.log(1 - share)), rel=0.06)


@pytest.mark.parametrize("share", ENCLOSED)
def test_a_contour_encloses_its_share_of_the_points(share: float) -> None:
    places = cloud(spread=0.2)
    lines = next(contour.lines for contour in contours(places, 0) if contour.share == share)
    within = np.logical_xor.reduce([inside(places, np.reshape(line, (-1, 2))) for line in lines])
    assert within.mean() == pytest.approx(share, abs=0.02)


def test_two_clouds_have_a_line_each() -> None:
    both = np.concatenate([cloud(5_000, 0.03) - 0.25, cloud(5_000, 0.03) + 0.25])
    assert [len(contour.lines) for contour in contours(both, 0)] == [2, 2, 2]


def test_the_density_of_points_in_one_place_is_theirs() -> None:
    density = density_of(np.full((30, 2), 1.0))
    assert density.grid.argmax() == CELLS * CELLS - 1
    assert np.isfinite([density.level(share) for share in ENCLOSED]).all()


def test_the_contours_of_a_head_and_of_the_pinned_one_come_together(client: FlaskClient, base: str) -> None:
    own, pinned = client.get(f"{base}/contours/pca-exact-2d/1/0.json?tokens=100&pinned=0-1").json
    assert own == client.get(f"{base}/contours/pca-exact-2d/1/0.json?tokens=100").json[0]
    assert pinned == client.get(f"{base}/contours/pca-exact-2d/0/1.json?tokens=100").json[0]
    assert [(contour["role"], contour["share"]) for contour in own] == [
        (role, share) for role in (0, 1) for share in sorted(ENCLOSED, reverse=True)
    ]


def test_the_legend_says_what_the_lines_enclose(tiny_store: str) -> None:
    here = link(tiny_store, "contours=1")
    assert "regions with 25, 50 and 75% of the queries" in str(TOPICS["head"].layout(here).below)
    assert "contours/pca-exact-2d/1/0.json" in str(picture_of(here))


def test_a_picture_in_3d_has_no_contours(tiny_store: str) -> None:
    here = link(tiny_store, "contours=1&clusters=1")
    deep = replace(here, state=here.state.with_(view="pca-exact-3d"))
    picture = picture_of(deep)
    assert picture is not None
    assert (picture.contours, picture.clusters, picture.file.notes) == (None, None, [])
    assert "contours" in str(picture_controls(here, head=True))
    assert "contours" not in str(picture_controls(deep, head=True))
