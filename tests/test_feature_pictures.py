"""Pictures of feature points and of values: their places, against scikit-learn, and the rules for tokens no fit has seen."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness
from zarr import create_array

import store
from ingest.encode.feature_points import read_point
from ingest.projections.feature_pictures import FeaturePicture
from ingest.projections.projection import PROJECTIONS, PlaceGrid, Projection, near_fitted
from store.features import Features
from store.kernels.projection import align
from store.schema.pictures import LARGEST_COORDINATE, ViewName

Ingest = Callable[..., str]
NAMES = "pca-joint,pca-each,pca-L00.mixed,umap-joint,umap-each,tsne-L01.mixed"


@pytest.fixture(scope="module")
def drawn(ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Features]:
    """Feature points with every kind of picture; pictures that look for neighbours are fitted on a part of the tokens."""
    with pytest.MonkeyPatch.context() as patch:
        for name, few in {"umap": {"point_vectors": 60, "value_tokens": 60}, "tsne": {"point_vectors": 50}}.items():
            patch.setitem(PROJECTIONS, name, replace(PROJECTIONS[name], joint_vectors=0, **few))
        place = tmp_path_factory.mktemp("drawn") / "store"
        yield store.open_corpus(ingest(place, sentences=15, features=NAMES, reviews="none", few_tokens=40)).features(
            "sample"
        )


def places(features: Features, view: str) -> np.ndarray:
    """Places (point, token, component) in the units of the projection."""
    opened = features.view(view)
    return features.places(view, features.n_tokens) * float(opened.side) + opened.low.values


def vectors(features: Features, point: str) -> np.ndarray:
    return features.feature.sel(point=point).values.astype(np.float64)


# -- places ---------------------------------------------------------------------------------------------


def test_joint_components_are_those_of_scikit_learn_over_all_points(drawn: Features) -> None:
    every = np.concatenate([vectors(drawn, point) for point in drawn.points])
    expected = PCA(2, svd_solver="full").fit_transform(every).reshape(len(drawn.points), -1, 2)
    step = float(drawn.view("pca-joint").side) / LARGEST_COORDINATE
    np.testing.assert_allclose(places(drawn, "pca-joint"), expected, atol=step + 1e-3)


def test_components_of_one_point_place_the_others(drawn: Features) -> None:
    fit = PCA(2, svd_solver="full").fit(vectors(drawn, "L00.mixed"))
    expected = np.stack([fit.transform(vectors(drawn, point)) for point in drawn.points])
    step = float(drawn.view("pca-L00.mixed").side) / LARGEST_COORDINATE
    np.testing.assert_allclose(places(drawn, "pca-L00.mixed"), expected, atol=step + 1e-3)


def test_each_point_is_laid_onto_the_one_before(drawn: Features) -> None:
    drawn_places = places(drawn, "pca-each")
    for picture, before in zip(drawn_places[1:], drawn_places, strict=False):
        np.testing.assert_allclose(align(picture, before), picture, atol=0.01 * np.ptp(picture))


def test_each_point_has_its_own_components_up_to_a_turn_and_a_scale(drawn: Features) -> None:
    drawn_places = places(drawn, "pca-each")
    for point, picture in zip(drawn.points, drawn_places, strict=True):
        own = PCA(2, svd_solver="full").fit_transform(vectors(drawn, point))
        np.testing.assert_allclose(align(own, picture), picture, atol=0.01 * np.ptp(picture))


@pytest.mark.parametrize("view", NAMES.split(","))
def test_every_place_is_in_the_cube(view: str, drawn: Features) -> None:
    cube = drawn.places(view, drawn.n_tokens)
    assert cube.shape == (len(drawn.points), drawn.n_tokens, 2)
    assert (cube.min(), cube.max()) == (0, 1)


def test_the_first_tokens_have_the_first_places(drawn: Features) -> None:
    np.testing.assert_array_equal(drawn.places("pca-each", 7), drawn.places("pca-each", 1_000)[:, :7])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_another_token_is_placed_among_its_nearest_by_the_metric(metric: str) -> None:
    random = np.random.default_rng(0)
    fitted, own, known = random.normal(size=(30, 4)), random.normal(size=(9, 4)), random.normal(size=(30, 2))
    distance = cdist(own, fitted, metric)
    square = 2 * distance if metric == "cosine" else distance**2
    nearest = np.argsort(square, axis=1)[:, :5]
    weight = 1 / (np.take_along_axis(square, nearest, axis=1) + 1e-6)
    expected = (weight[..., None] * known[nearest]).sum(axis=1) / weight.sum(axis=1)[:, None]
    np.testing.assert_allclose(near_fitted(own, fitted, known, metric=metric), expected, rtol=1e-3, atol=1e-4)


def test_a_view_says_what_it_is_fitted_on_and_how_others_are_placed(drawn: Features) -> None:
    attributes = drawn.view("umap-each").attrs
    assert attributes["fitted_on"] == "the first 60 tokens at each place by itself"
    assert attributes["placed"].endswith(
        "weighted by 1 / distance squared; then turned and scaled onto the point before"
    )
    assert json.loads(attributes["parameters"]) == {"metric": "euclidean", "min_dist": 0.1, "neighbors": 15, "seed": 0}
    assert drawn.view("umap-joint").attrs["fitted_on"] == "the first 40 tokens at all places together"
    assert drawn.view("tsne-L01.mixed").attrs["fitted_on"] == "the first 50 tokens at the place L1 head outputs"
    assert drawn.view("pca-joint").attrs["fitted_on"] == f"all {drawn.n_tokens} tokens at all places together"


def test_a_jointly_fitted_view_says_that_others_are_placed_at_their_own_point(drawn: Features) -> None:
    assert "nearest fitted vectors of the same point, weighted" in drawn.view("umap-joint").attrs["placed"]
    assert "nearest fitted vectors, weighted" in drawn.view("umap-each").attrs["placed"]


def test_a_view_names_the_perplexity_that_so_few_points_allow(drawn: Features) -> None:
    assert json.loads(drawn.view("tsne-L01.mixed").attrs["parameters"])["perplexity"] == pytest.approx(49 / 3)


def test_more_neighbours_than_points_are_not_named() -> None:
    method = Projection("umap", 4, {"neighbors": 100, "min_dist": 0.1})
    assert method.parameters(41) == {"neighbors": 40, "min_dist": 0.1, "seed": 4}


class Waiting(Projection):
    """A projection that returns the vectors of its fits, and fits nothing."""

    def begin(self, sets: Sequence[Callable[[], np.ndarray]]) -> list[np.ndarray]:
        return [read() for read in sets]


class FewFitted(FeaturePicture):
    fitted_tokens = 7


def test_a_fit_that_waits_holds_no_other_tokens() -> None:
    feature = create_array({}, data=np.ones((3, 90, 4), np.float16))
    method = Waiting("umap", 0, {"metric": "euclidean"})
    read = partial(read_point, feature)
    waiting = FewFitted(ViewName.parse_points("umap-each"), method, ["a", "b", "c"], 90, read)._begun
    held = [vectors if vectors.base is None else vectors.base for vectors in waiting]
    assert [len(vectors) for vectors in held] == [7, 7, 7]


# -- how far they can be trusted ------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["pca-each", "umap-joint"])
def test_trustworthiness_is_that_of_scikit_learn(view: str, drawn: Features) -> None:
    shown = drawn.places(view, drawn.n_tokens)
    for number, point in enumerate(drawn.points):
        expected = trustworthiness(vectors(drawn, point), shown[number], n_neighbors=10)
        assert float(drawn.view(view).trustworthiness[number]) == pytest.approx(expected, abs=0.01)


def test_the_most_faithful_view_comes_first(drawn: Features) -> None:
    faithful = [float(drawn.view(view).trustworthiness.mean()) for view in drawn.views]
    assert faithful == sorted(faithful, reverse=True)
    assert set(drawn.views) == set(NAMES.split(","))


# -- values ---------------------------------------------------------------------------------------------


def test_values_have_components_in_all_layers_and_umap_in_the_last(drawn: Features) -> None:
    assert {name: list(drawn.value_view(name).attrs["layers"]) for name in drawn.value_views} == {
        "pca": [0, 1],
        "umap": [1],
    }


def test_components_of_values_are_those_of_scikit_learn(drawn: Features) -> None:
    view = drawn.value_view("pca")
    for layer, head in np.ndindex(2, 2):
        expected = PCA(2, svd_solver="full").fit_transform(drawn.value[layer, head].values.astype(np.float64))
        side = float(view.side[layer, head])
        drawn_places = drawn.value_places("pca", layer, drawn.n_tokens)[head] * side + view.low[layer, head].values
        np.testing.assert_allclose(drawn_places, expected, atol=side / LARGEST_COORDINATE + 1e-3)


def test_the_picture_of_values_is_judged_where_it_is_drawn(drawn: Features) -> None:
    judged = np.isfinite(drawn.value_view("umap").trustworthiness.values)
    np.testing.assert_array_equal(judged, [[False, False], [True, True]])


# -- cubes ----------------------------------------------------------------------------------------------

#: Places with so few bits that no sum or difference of two is rounded: a place on the border is not outside.
PLACES = arrays(np.float64, (3, 5, 2), elements=st.floats(-100, 100, width=16))


@given(PLACES, st.sampled_from([0, 1]))
def test_places_come_back_from_their_cube(places: np.ndarray, panels: int) -> None:
    cubes = PlaceGrid.around(places, panels=panels)
    coordinates, outside = cubes.encode(places)
    assert abs(cubes.decode(coordinates) - places).max() <= cubes.side.max() / LARGEST_COORDINATE + 1e-12
    assert not outside.any()


def test_one_cube_holds_all_panels_in_the_middle() -> None:
    cubes = PlaceGrid.around(np.array([[[0.0, 0]], [[4, 2]]]), panels=0)
    assert (cubes.low.tolist(), cubes.side.tolist()) == ([0, -1], 4)


def test_places_outside_a_cube_are_counted_and_drawn_on_its_border() -> None:
    cubes = PlaceGrid.around(np.array([[[0.0, 0], [10, 10]], [[0, 0], [2, 2]]]), panels=1, margin=1.1)
    coordinates, outside = cubes.encode(np.array([[[5.0, 20], [-20, 5], [5, 5]], [[1, 1], [0, 0], [2, 2]]]))
    assert outside.tolist() == [2, 0]
    assert coordinates[0].tolist() == [
        [LARGEST_COORDINATE // 2 + 1, LARGEST_COORDINATE],
        [0, LARGEST_COORDINATE // 2 + 1],
        [LARGEST_COORDINATE // 2 + 1] * 2,
    ]


#: UMAP is compiled when it is first used.
SLOW = pytest.mark.heavy
FEW: dict[str, dict[str, float]] = {
    "pca": {},
    "tsne": {"perplexity": 30, "steps": 250},
    "umap": {"neighbors": 15, "min_dist": 0.1},
}


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=SLOW if kind == "umap" else ()) for kind in FEW])
@pytest.mark.parametrize("tokens", [2, 3, 5])
def test_a_handful_of_tokens_can_be_fitted(tokens: int, kind: str) -> None:
    points, method = np.eye(tokens, 7, dtype=np.float32), Projection(kind, 0, FEW[kind])
    places = method.place(points, method.fit(points), points)
    assert places.shape == (tokens, 2)
    assert np.isfinite(places).all()
