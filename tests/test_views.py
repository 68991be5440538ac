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
from dashboard.points.controls import fidelity_caption, head_fidelity_caption

Ingest = Callable[..., str]
FIT_TOKENS = 200


@pytest.fixture(scope="module")
def corpus(any_store: str) -> store.Corpus:
    return store.open_corpus(any_store)


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
    """Number of tokens in the first whole sentences that fit into the sample."""
    ends = np.cumsum(corpus.sentences.row_size.values)
    return int(ends[ends <= FIT_TOKENS].max())


def every_head(corpus: store.Corpus) -> list[tuple[int, int]]:
    return [(layer, head) for layer in range(corpus.layers) for head in range(corpus.heads)]


def exact_units(query: np.ndarray, key: np.ndarray, radius: float) -> list[np.ndarray]:
    """Unit vectors of (token, channel) queries and keys in exact mode, spelled out."""
    height = [np.sqrt(max(radius**2 - (vector**2).sum(), 0)) for vector in key]
    raised = [np.column_stack([query, np.zeros(len(query))]), np.column_stack([key, height])]
    return [points / np.linalg.norm(points, axis=1, keepdims=True) for points in raised]


def test_the_view_is_fitted_on_the_first_whole_sentences(view: xr.Dataset, sample: int) -> None:
    assert view.attrs["sample_tokens"] == sample


def test_radius_is_the_longest_key_of_the_sample(corpus: store.Corpus, vectors: np.ndarray, sample: int) -> None:
    longest = np.linalg.norm(vectors[:, :, 1, :sample], axis=-1).max(axis=-1)
    np.testing.assert_allclose(corpus.normalizations.radius.sel(normalization="exact"), longest, rtol=1e-6)


def principal(vectors: np.ndarray, sample: int) -> list[np.ndarray]:
    """Principal components (token, 2) of one head's queries and keys in exact mode, spelled out; the sign is arbitrary."""
    radius = np.linalg.norm(vectors[1, :sample], axis=-1).max()
    units = exact_units(*vectors, radius)
    fitted = np.concatenate([points[:sample] for points in units])
    _, _, axes = np.linalg.svd(fitted - fitted.mean(axis=0), full_matrices=False)
    return [(points - fitted.mean(axis=0)) @ axes[:2].T for points in units]


def test_places_are_principal_components_of_exact_unit_vectors(
    corpus: store.Corpus, view: xr.Dataset, vectors: np.ndarray, sample: int
) -> None:
    """The tolerance is that of 16 bits in the cube; places beyond the cube are on its border."""
    places = np.moveaxis(corpus.places(corpus.views[0], corpus.rows), -2, 2)
    for layer, head in every_head(corpus):
        low, side = view.low[layer, head].values, view.side[layer, head].values
        stored = low + places[layer, head] * side
        expected = np.stack(principal(vectors[layer, head], sample))
        signs = np.sign((stored * expected).sum(axis=(0, 1)))
        np.testing.assert_allclose(stored, np.clip(expected * signs, low, low + side), atol=float(side) / 65535)


def test_explained_shares_fall_and_are_shares(view: xr.Dataset) -> None:
    first, second = np.moveaxis(view.explained.values, -1, 0)
    assert (first >= second).all()
    assert ((second > 0) & (first + second <= 1)).all()


def test_fidelity_is_what_scipy_says_of_sentences_the_fit_has_not_seen(corpus: store.Corpus, view: xr.Dataset) -> None:
    unseen = range(view.attrs["sample_sentences"], corpus.n_sentences)
    assert_judged(corpus, view, "held_out", unseen)


def test_fidelity_on_sentences_of_the_fit_stands_beside_it(corpus: store.Corpus, view: xr.Dataset) -> None:
    assert_judged(corpus, view, "fitted", range(view.attrs["sample_sentences"]))


def assert_judged(corpus: store.Corpus, view: xr.Dataset, judged: str, sentences: range) -> None:
    """Assert that Spearman and recall of every head are the means over these sentences."""
    query, key = corpus.query.values.astype(np.float64), corpus.key.values.astype(np.float64)
    fidelity = view.fidelity.sel(judged=judged, measure=["spearman", "recall"])
    for layer, head in every_head(corpus):
        expected = []
        for rows in map(corpus.sentence_rows, sentences):
            logits = query[layer, head, rows] @ key[layer, head, rows].T / np.sqrt(query.shape[-1])
            places = view.coordinates.values[layer, head, :, rows].astype(np.float64)
            expected.append(judge_by_hand(softmax(logits, axis=-1), cdist(*places)))
        np.testing.assert_allclose(fidelity[:, layer, head], np.mean(expected, axis=0), atol=2e-3)


def judge_by_hand(pattern: np.ndarray, distance: np.ndarray) -> tuple[float, float]:
    pairs = list(zip(pattern, distance, strict=True))
    nearest = [set(np.argsort(-weights)[:3]) & set(np.argsort(away)[:3]) for weights, away in pairs]
    return np.mean([spearmanr(*pair).statistic for pair in pairs]), np.mean([len(keys) / 3 for keys in nearest])


def test_fidelity_says_what_it_was_judged_on(view: xr.Dataset) -> None:
    assert view.measure.values.tolist() == ["spearman", "recall", "trustworthiness", "across"]
    assert view.judged.values.tolist() == ["held_out", "fitted"]
    assert view.attrs["judged_on"].endswith(" held-out sentences")


def test_a_small_corpus_holds_a_fifth_of_its_sentences_out(ingest: Ingest, tmp_path: Path) -> None:
    corpus = store.open_corpus(ingest(tmp_path / "store", sentences=10, fit_tokens=10_000))
    view = corpus.view("pca-exact-2d").load()
    assert view.attrs["sample_sentences"] == 8
    assert view.attrs["judged_on"] == corpus.normalizations.attrs["judged_on"] == "2 held-out sentences"
    assert_judged(corpus, view, "held_out", range(8, 10))
    assert_judged(corpus, view, "fitted", range(8))


def test_a_corpus_too_small_to_hold_sentences_out_has_no_held_out_numbers(ingest: Ingest, tmp_path: Path) -> None:
    corpus = store.open_corpus(ingest(tmp_path / "store", sentences=4))
    view = corpus.view("pca-exact-2d")
    assert view.fidelity.sel(judged="held_out").isnull().all()
    assert_judged(corpus, view, "fitted", range(4))
    judged_on = "4 sentences of the fit, as the corpus is too small to hold any out"
    assert view.attrs["judged_on"] == corpus.normalizations.attrs["judged_on"] == judged_on
    shown = [fidelity_caption(corpus, "pca-exact-2d"), head_fidelity_caption(corpus, "pca-exact-2d", 1, 0)]
    for text, _ in (mark.children for mark in shown):
        assert text.endswith(f"on {judged_on}.")
        assert "nan" not in text


def test_coordinates_of_padding_are_nothing_and_of_tokens_are_there(corpus: store.Corpus, view: xr.Dataset) -> None:
    there = view.coordinates.any(["layer", "head", "role", "component"])
    np.testing.assert_array_equal(np.flatnonzero(there), corpus.rows)


def test_places_are_a_share_of_the_cube(corpus: store.Corpus, view: xr.Dataset) -> None:
    rows = corpus.rows[3:30:2]
    placed = corpus.places("pca-exact-2d", rows, layer=1, head=0)
    expected = view.coordinates[1, 0].isel(token=rows).transpose("token", "role", "component") / 65535
    assert placed.dtype == np.float32
    np.testing.assert_allclose(placed, expected, rtol=1e-6)


def test_places_of_a_head_are_a_part_of_those_of_all(corpus: store.Corpus) -> None:
    rows = corpus.rows[:20]
    head_places = corpus.places("pca-exact-2d", rows, layer=1, head=1)
    np.testing.assert_array_equal(head_places, corpus.places("pca-exact-2d", rows)[1, 1])


@pytest.mark.parametrize("sentences", [1, 2])
def test_the_smallest_stores_have_a_picture(sentences: int, ingest: Ingest, tmp_path: Path) -> None:
    corpus = store.open_corpus(ingest(tmp_path / "store", sentences=sentences))
    assert corpus.n_sentences == sentences
    assert corpus.view(corpus.views[0]).coordinates.isel(token=corpus.rows).any("component").all()
