"""Pictures by t-SNE and UMAP: fitted points keep their places, others lie among their nearest, found by brute force."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import linalg, spmatrix
from scipy.spatial.distance import cdist

import store
from ingest.projections.compiled_places import SEARCHED, largest_of_rows, nearest_points
from ingest.projections.normalizations import LayerVectors
from ingest.projections.projection import HeadProjection, Nearest, Projection
from ingest.run.parallel import fits_on
from store.kernels.projection import place_by_neighbours
from store.schema.pictures import ViewName
from tests.tiny_models import save_model

HEADS, FITTED, TOKENS, CHANNELS = 2, 12, 20, 5
VIEW = ViewName("tsne", "raw", 2)


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """Queries and keys (role, head, token, channel); the first FITTED tokens are the fitted ones."""
    return np.random.default_rng(0).standard_normal((2, HEADS, TOKENS, CHANNELS)).astype(np.float32)


@pytest.fixture(scope="module")
def fitted() -> np.ndarray:
    """Random places (head, role, token, component) that stand for those of a library."""
    return np.random.default_rng(1).standard_normal((HEADS, 2, FITTED, 2)).astype(np.float32)


@pytest.fixture
def projection(vectors: np.ndarray) -> HeadProjection:
    query, key = vectors[:, :, :FITTED]
    return HeadProjection(VIEW, Nearest(lambda _: (query, key), device="cpu"), heads=HEADS, seed=0)


def by_brute_force(vectors: np.ndarray, fitted: np.ndarray, head: int, role: int, token: int) -> np.ndarray:
    """Mean place of the five nearest of all queries and keys by cosine, with weights 1 / |difference of unit vectors|^2."""
    points = np.concatenate(list(vectors[:, head, :FITTED])).astype(np.float64)
    places = fitted[head].reshape(-1, 2)
    square = 2 * cdist(vectors[role, head, token][None].astype(np.float64), points, "cosine")[0]
    near = np.argsort(square)[:5]
    return np.average(places[near], axis=0, weights=1 / (square[near] + 1e-6))


def test_a_fitted_token_keeps_its_own_place(
    projection: HeadProjection, vectors: np.ndarray, fitted: np.ndarray
) -> None:
    placed = projection.place(0, {"fitted": fitted}, LayerVectors(*vectors), 0)
    np.testing.assert_array_equal(placed[:, :, :FITTED], fitted)


def test_another_token_lies_at_the_weighted_mean_of_its_five_nearest(
    projection: HeadProjection, vectors: np.ndarray, fitted: np.ndarray
) -> None:
    placed = projection.place(0, {"fitted": fitted}, LayerVectors(*vectors), 0)
    for head, role, token in np.ndindex(HEADS, 2, TOKENS):
        if token >= FITTED:
            expected = by_brute_force(vectors, fitted, head, role, token)
            np.testing.assert_allclose(placed[head, role, token], expected, atol=1e-4)


@pytest.mark.parametrize("first", [0, 5, 11, 12, 15])
def test_a_part_of_the_tokens_is_placed_as_all_of_them(
    first: int, projection: HeadProjection, vectors: np.ndarray, fitted: np.ndarray
) -> None:
    whole = projection.place(0, {"fitted": fitted}, LayerVectors(*vectors), 0)
    part = projection.place(0, {"fitted": fitted}, LayerVectors(*vectors[:, :, first:]), first)
    np.testing.assert_allclose(part, whole[:, :, first:], atol=1e-6)


def test_a_token_between_two_is_drawn_to_the_nearer() -> None:
    """The squared distances 1 and 3 give the weights 3 to 1."""
    placed = place_by_neighbours(np.array([[1.0, 3]]), np.array([[[0.0, 0], [8, 4]]]))
    np.testing.assert_allclose(placed, [[2, 1]], rtol=1e-5)


def test_a_token_on_a_fitted_point_is_drawn_there() -> None:
    placed = place_by_neighbours(np.array([[0.0, 1]]), np.array([[[5.0, 5], [9, 9]]]))
    np.testing.assert_allclose(placed, [[5, 5]], atol=1e-4)


def test_nearest_fitted_points_are_cached_for_all_pictures(vectors: np.ndarray) -> None:
    """A second picture gets the same arrays; another layer or block gets other arrays."""
    nearest = Nearest(lambda layer: tuple(vectors[:, :, layer : layer + FITTED]), device="cpu")
    first, again = (nearest.of(0, *vectors, 0) for _ in range(2))
    assert first[0] is again[0]
    assert not np.array_equal(nearest.of(1, *vectors, 0)[0], first[0])
    np.testing.assert_array_equal(nearest.of(0, *vectors[:, :, 8:], 8)[0], first[0][:, :, 8:])


def test_the_fitted_tokens_of_a_layer_are_not_taken_for_its_first_block(vectors: np.ndarray) -> None:
    """In a model of one layer, a block follows right after the fit of the same layer."""
    nearest = Nearest(lambda _: (vectors[0, :, :FITTED], vectors[1, :, :FITTED]), device="cpu")
    nearest.of(0, *vectors[:, :, :FITTED], 0)
    index, square = nearest.of(0, *vectors, 0)
    assert index.shape == square.shape == (HEADS, 2, TOKENS, 5)


def test_with_fewer_points_than_neighbours_all_of_them_are_near(vectors: np.ndarray, fitted: np.ndarray) -> None:
    query, key = vectors[:, :, :1]
    projection = HeadProjection(VIEW, Nearest(lambda _: (query, key), device="cpu"), heads=HEADS, seed=0)
    placed = projection.place(0, {"fitted": fitted[:, :, :1]}, LayerVectors(*vectors[:, :, 1:]), 1)
    low, high = fitted[:, :, :1].min(axis=1, keepdims=True), fitted[:, :, :1].max(axis=1, keepdims=True)
    assert ((placed >= low - 1e-6) & (placed <= high + 1e-6)).all()


@pytest.mark.parametrize("projection", ["tsne", "attentionviz"])
@pytest.mark.parametrize("components", [2, 3])
def test_the_same_seed_gives_the_same_places_bit_for_bit(projection: str, components: int) -> None:
    points = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)
    first, other = (
        Projection.of_heads(projection, components=components, seed=3).fit(points)["fitted"] for _ in range(2)
    )
    assert (first.shape, first.dtype) == ((30, components), np.float32)
    np.testing.assert_array_equal(first, other)


def test_umap_starts_at_the_same_places_where_the_search_for_eigenvectors_starts_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a graph of 14,000 points in 12 parts, SciPy restarts from random vectors."""

    def restarted(graph: spmatrix, count: int, *, rng: int | None = None, **_settings: object) -> tuple[Any, Any]:
        return np.arange(count), np.random.default_rng(rng).standard_normal((graph.shape[0], count))

    monkeypatch.setattr(linalg, "eigsh", restarted)
    points = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32)
    first, other = (Projection.of_heads("umap", components=2, seed=3).fit(points)["fitted"] for _ in range(2))
    np.testing.assert_array_equal(first, other)


@pytest.mark.parametrize("projection", ["tsne", "attentionviz"])
def test_far_clusters_stay_clusters(projection: str) -> None:
    random = np.random.default_rng(0)
    points = np.repeat(np.eye(2, 4), 20, axis=0) + 0.01 * random.standard_normal((40, 4))
    places = Projection.of_heads(projection, components=2, seed=0).fit(points.astype(np.float32))["fitted"]
    distance = cdist(places, places)
    np.fill_diagonal(distance, np.inf)
    assert (distance.argmin(axis=1) // 20 == np.arange(40) // 20).all()


@pytest.mark.parametrize("points", [2, 4, 6])
def test_a_handful_of_points_can_be_fitted(points: int) -> None:
    fitted = Projection.of_heads("tsne", components=2, seed=0).fit(np.eye(points, 7, dtype=np.float32))["fitted"]
    assert np.isfinite(fitted).all()


@pytest.mark.parametrize("seed", [-1, (1 << 63) - 1])
def test_a_seed_of_64_bits_or_below_zero_is_one_of_32_bits(seed: int, vectors: np.ndarray) -> None:
    places = [fitted_places(vectors, seed_of_fit) for seed_of_fit in (seed, (1 << 32) - 1)]
    np.testing.assert_array_equal(*places)


def fitted_places(vectors: np.ndarray, seed: int) -> np.ndarray:
    """Places of a fit in threads, as the imports of processes take seconds."""
    projection = HeadProjection(VIEW, Nearest(lambda _: tuple(vectors), device="cpu"), heads=HEADS, seed=seed)
    with ThreadPoolExecutor(1) as pool, fits_on(pool, workers=1):
        (fit,) = projection.begin([0], lambda _: tuple(vectors))(lambda _: None)
    return fit.parameters["fitted"]


@pytest.mark.parametrize("seed", [-1, 1 << 32])
def test_a_model_of_one_layer_is_ingested_with_any_seed(seed: int, ingest: Callable[..., str], tmp_path: Path) -> None:
    model = save_model(tmp_path / "one-layer", layers=1)
    corpus = store.open_corpus(ingest(tmp_path / "store", model=model, seed=seed, views="tsne-raw-2d", sentences=10))
    assert (corpus.layers, corpus.views) == (1, ["tsne-raw-2d"])


def test_queries_and_keys_of_a_head_are_fitted_together(projection: HeadProjection, vectors: np.ndarray) -> None:
    """The fit runs in threads, as the imports of processes take seconds."""
    with ThreadPoolExecutor(1) as pool, fits_on(pool, workers=1):
        ((layer, parameters, _),) = projection.begin([4], lambda _: tuple(vectors))(lambda _: None)
    unit = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    expected = Projection.of_heads("tsne", components=2, seed=0).fit(np.concatenate(list(unit[:, 1])))["fitted"]
    assert layer == 4
    np.testing.assert_array_equal(parameters["fitted"][1].reshape(-1, 2), expected)


def test_the_largest_of_rows_are_those_of_a_sort() -> None:
    values = np.random.default_rng(2).standard_normal((30, 50)).astype(np.float32)
    kept, columns = largest_of_rows(values, 5)
    np.testing.assert_array_equal(np.sort(kept), np.sort(values)[:, -5:])
    np.testing.assert_array_equal(np.take_along_axis(values, columns, axis=1), kept)


@pytest.mark.parametrize("fitted", [1, 4, 5, 64, 65, 1000])
@pytest.mark.parametrize("points", [1, SEARCHED, SEARCHED + 3])
def test_the_nearest_fitted_points_are_those_of_a_sort(fitted: int, points: int) -> None:
    random = np.random.default_rng(3)
    known = random.standard_normal((fitted, 6))
    known /= np.linalg.norm(known, axis=1, keepdims=True)
    vectors = 3 * random.standard_normal((points, 6))
    index, square = nearest_points(vectors.astype(np.float32), torch.from_numpy(known.astype(np.float32)))
    expected = 2 * cdist(vectors, known, "cosine")
    np.testing.assert_allclose(np.sort(square), np.sort(expected)[:, :5], atol=1e-5)
    np.testing.assert_allclose(square, np.take_along_axis(expected, index.astype(int), axis=1), atol=1e-5)


def test_a_vector_of_zeros_has_the_first_fitted_points_as_its_nearest() -> None:
    """A vector of zeros has a cosine of 0 with all points, as `unit` does not change it."""
    index, square = nearest_points(np.zeros((1, 3), np.float32), torch.eye(3))
    assert (index.tolist(), square.tolist()) == ([[0, 1, 2]], [[2, 2, 2]])
