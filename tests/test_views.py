"""The stored picture of every head, against numpy's SVD and scipy's rank correlation."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.spatial.distance import cdist
from scipy.special import softmax
from scipy.stats import spearmanr

import store

Ingest = Callable[..., str]
BLOCK = 64
FIT_TOKENS = 200


@pytest.fixture(scope="module")
def corpus(any_model: Path, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> store.Corpus:
    return store.open_corpus(ingest(tmp_path_factory.mktemp("store") / any_model.name, model=any_model))


@pytest.fixture(scope="module")
def view(corpus: store.Corpus) -> xr.Dataset:
    return corpus.view(corpus.views[0]).load()


@pytest.fixture(scope="module")
def vectors(corpus: store.Corpus) -> np.ndarray:
    """Queries and keys of all real tokens as stored, in float64: (layer, head, role, token, channel)."""
    both = [array.isel(token=corpus.rows).values.astype(np.float64) for array in (corpus.query, corpus.key)]
    return np.stack(both, axis=2)


@pytest.fixture(scope="module")
def sample(corpus: store.Corpus) -> int:
    """Tokens of the first whole sentences within the sample."""
    ends = np.cumsum(corpus.sentences.row_size.values)
    return int(ends[ends <= FIT_TOKENS].max())


def every_head(corpus: store.Corpus) -> list[tuple[int, int]]:
    return [(layer, head) for layer in range(corpus.layers) for head in range(corpus.heads)]


def exact_units(query: np.ndarray, key: np.ndarray, radius: float) -> list[np.ndarray]:
    """Unit vectors of (token, channel) queries and keys in exact mode, spelled out."""
    height = [np.sqrt(max(radius**2 - (one**2).sum(), 0)) for one in key]
    raised = [np.column_stack([query, np.zeros(len(query))]), np.column_stack([key, height])]
    return [points / np.linalg.norm(points, axis=1, keepdims=True) for points in raised]


def test_the_view_is_fitted_on_the_first_whole_sentences(view: xr.Dataset, sample: int) -> None:
    assert view.attrs["sample_tokens"] == sample


def test_radius_is_the_longest_key_of_the_sample(view: xr.Dataset, vectors: np.ndarray, sample: int) -> None:
    longest = np.linalg.norm(vectors[:, :, 1, :sample], axis=-1).max(axis=-1)
    np.testing.assert_allclose(view.radius, longest, rtol=1e-6)


def test_coordinates_are_principal_components_of_exact_unit_vectors(
    corpus: store.Corpus, view: xr.Dataset, vectors: np.ndarray, sample: int
) -> None:
    """The sign of an axis is free, so absolute coordinates are compared."""
    for layer, head in every_head(corpus):
        radius = np.linalg.norm(vectors[layer, head, 1, :sample], axis=-1).max()
        units = exact_units(*vectors[layer, head], radius)
        fitted = np.concatenate([points[:sample] for points in units])
        _, _, axes = np.linalg.svd(fitted - fitted.mean(axis=0), full_matrices=False)
        stored = view.coordinates[layer, head].isel(token=corpus.rows).values
        for role, points in enumerate(units):
            expected = (points - fitted.mean(axis=0)) @ axes[:2].T
            np.testing.assert_allclose(abs(stored[role]), abs(expected), atol=1e-4)


def test_explained_shares_fall_and_are_shares(view: xr.Dataset) -> None:
    first, second = np.moveaxis(view.explained.values, -1, 0)
    assert (first >= second).all()
    assert ((second > 0) & (first + second <= 1)).all()


def test_fidelity_is_what_scipy_says_of_sentences_the_fit_has_not_seen(corpus: store.Corpus, view: xr.Dataset) -> None:
    query, key = corpus.query.values.astype(np.float64), corpus.key.values.astype(np.float64)
    unseen = range(view.attrs["sample_sentences"], corpus.n_sentences)
    for layer, head in every_head(corpus):
        judged = []
        for rows in map(corpus.sentence_rows, unseen):
            logits = query[layer, head, rows] @ key[layer, head, rows].T / np.sqrt(query.shape[-1])
            distance = cdist(*(view.coordinates.values[layer, head, role, rows] for role in (0, 1)))
            judged.append(judge_by_hand(softmax(logits, axis=-1), distance))
        np.testing.assert_allclose(view.fidelity[:, layer, head], np.mean(judged, axis=0), atol=2e-3)


def judge_by_hand(pattern: np.ndarray, distance: np.ndarray) -> tuple[float, float]:
    pairs = list(zip(pattern, distance, strict=True))
    found = [set(np.argsort(-weights)[:3]) & set(np.argsort(away)[:3]) for weights, away in pairs]
    return np.mean([spearmanr(*pair).statistic for pair in pairs]), np.mean([len(keys) / 3 for keys in found])


def test_fidelity_says_what_it_was_judged_on(view: xr.Dataset) -> None:
    assert view.measure.values.tolist() == ["spearman", "recall"]
    assert view.attrs["held_out"]
    assert view.attrs["judged_on"].endswith("sentences the fit has not seen")


def test_a_fit_on_everything_says_that_nothing_was_left_to_judge_it(ingest: Ingest, tmp_path: Path) -> None:
    corpus = store.open_corpus(ingest(tmp_path / "store", sentences=10, fit_tokens=10_000))
    attributes = corpus.view("pca-exact").attrs
    assert not attributes["held_out"]
    assert attributes["judged_on"] == "10 sentences of the fit, as there are no others"


def test_coordinates_of_padding_are_missing_and_of_tokens_are_there(corpus: store.Corpus, view: xr.Dataset) -> None:
    missing = np.isnan(view.coordinates.values).any(axis=(0, 1, 2, 4))
    np.testing.assert_array_equal(np.flatnonzero(~missing), corpus.rows)


def test_bounds_of_every_block_are_those_of_its_coordinates(view: xr.Dataset) -> None:
    for block in range(view.sizes["task"]):
        inside = view.coordinates.isel(token=slice(block * BLOCK, (block + 1) * BLOCK))
        np.testing.assert_array_equal(view.block_low[block], inside.min(["role", "token"]))
        np.testing.assert_array_equal(view.block_high[block], inside.max(["role", "token"]))


def test_keys_beyond_the_radius_are_counted(view: xr.Dataset, vectors: np.ndarray) -> None:
    lengths = np.linalg.norm(vectors[:, :, 1], axis=-1)
    beyond = (lengths > view.radius.values[..., None] * (1 + 1e-9)).sum(axis=-1)
    np.testing.assert_array_equal(view.block_beyond.sum("task"), beyond)


@pytest.mark.parametrize("sentences", [1, 2])
def test_the_smallest_stores_have_a_picture(sentences: int, ingest: Ingest, tmp_path: Path) -> None:
    corpus = store.open_corpus(ingest(tmp_path / "store", sentences=sentences))
    assert corpus.n_sentences == sentences
    assert not np.isnan(corpus.view(corpus.views[0]).coordinates.isel(token=corpus.rows)).any()
