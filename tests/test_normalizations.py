"""Stage `normalizations`: the constants of every head in a store, against their definitions in numpy and scipy."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from scipy.spatial.distance import cdist
from scipy.special import softmax
from scipy.stats import spearmanr

import store
from store.kernels.projection import FEWEST_PAIRS, normalized
from store.schema.pictures import NORMALIZATIONS
from tests.stores import MAX_LENGTH
from tests.tiny_models import WORDS

Ingest = Callable[..., str]
EVERY = pytest.mark.parametrize("name", list(NORMALIZATIONS))
#: Sentences of the model's full length that have enough nearest pairs for a correlation; sentences that judge.
LONG, JUDGES = 75, 6


@pytest.fixture(scope="module")
def long_sentences(tmp_path_factory: pytest.TempPathFactory) -> Path:
    choose, words = random.Random(0), [word for word in WORDS if word.isalpha()]
    sentences = [" ".join(choose.choices(words, k=MAX_LENGTH)).capitalize() for _ in range(LONG + JUDGES)]
    place = tmp_path_factory.mktemp("long") / "long.txt"
    place.write_text("".join(f"{sentence}.\n" for sentence in sentences))
    return place


@pytest.fixture(scope="module")
def corpus(
    any_model: Path, long_sentences: Path, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory
) -> store.Corpus:
    place = tmp_path_factory.mktemp("store") / any_model.name
    settings = {"sentences": LONG + JUDGES, "fit_tokens": LONG * MAX_LENGTH, "judged_sentences": JUDGES}
    corpus = store.open_corpus(ingest(place, model=any_model, data=long_sentences, **settings))
    assert int(corpus.normalizations.pairs.min()) >= FEWEST_PAIRS
    return corpus


@pytest.fixture(scope="module")
def constants(corpus: store.Corpus) -> xr.Dataset:
    return corpus.normalizations


@pytest.fixture(scope="module")
def sample(corpus: store.Corpus) -> int:
    """Number of sentences of the fit."""
    return int(corpus.view("pca-exact-2d").attrs["sample_sentences"])


def vectors(corpus: store.Corpus, sentences: range, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Queries and keys (layer, head, token, channel) of the sentences."""
    rows = np.concatenate([np.r_[corpus.sentence_rows(sentence)] for sentence in sentences])
    query, key = (array.isel(token=rows).values.astype(dtype) for array in (corpus.query, corpus.key))
    return query, key


def apply(constants: xr.Dataset, name: str, query: Any, key: Any, make: Any = np.asarray) -> tuple[Any, Any]:
    """Queries and keys after the kernel with the stored constants."""
    constant = constants.sel(normalization=name)
    dtype = np.asarray(query).dtype
    scale, shift, radius = (make(constant[part].values.astype(dtype)) for part in ("scale", "shift", "radius"))
    return normalized(make(query), make(key), scale=scale, shift=shift, radius=radius if name == "exact" else None)


def patterns(query: np.ndarray, key: np.ndarray, channels: int) -> np.ndarray:
    logits = query.astype(np.float64) @ np.swapaxes(key, -1, -2).astype(np.float64)
    return softmax(logits / np.sqrt(channels), axis=-1)


@EVERY
@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-5), (np.float64, 1e-12)], ids=["f4", "f8"])
def test_attention_is_the_same_after_every_normalization(
    name: str, make: Any, dtype: Any, error: float, corpus: store.Corpus, constants: xr.Dataset
) -> None:
    for sentence in range(0, corpus.n_sentences, 5):
        query, key = vectors(corpus, range(sentence, sentence + 1), dtype)
        after = [np.asarray(vectors_after) for vectors_after in apply(constants, name, query, key, make)]
        channels = query.shape[-1]
        np.testing.assert_allclose(patterns(*after, channels), patterns(query, key, channels), atol=error, rtol=0)


def test_the_same_shift_of_the_queries_changes_attention(corpus: store.Corpus, constants: xr.Dataset) -> None:
    """Otherwise the test above would show nothing."""
    query, key = vectors(corpus, range(1))
    shifted = query + constants["shift"].sel(normalization="centroid").values[:, :, None]
    channels = query.shape[-1]
    assert np.abs(patterns(shifted, key, channels) - patterns(query, key, channels)).max() > 0.01


def test_raw_does_nothing(corpus: store.Corpus, constants: xr.Dataset) -> None:
    before = vectors(corpus, range(2))
    for after, other in zip(apply(constants, "raw", *before), before, strict=True):
        np.testing.assert_array_equal(after, other)


def test_after_centroid_both_clouds_of_the_sample_have_one_centre(
    corpus: store.Corpus, constants: xr.Dataset, sample: int
) -> None:
    query, key = apply(constants, "centroid", *vectors(corpus, range(sample)))
    np.testing.assert_allclose(query.mean(axis=2), key.mean(axis=2), atol=1e-12)


def test_after_sphere_the_best_sphere_of_the_keys_is_round_the_origin(
    corpus: store.Corpus, constants: xr.Dataset, sample: int
) -> None:
    _, keys = apply(constants, "sphere", *vectors(corpus, range(sample)))
    for key in keys.reshape(-1, *keys.shape[-2:]):
        design = np.column_stack([2 * key, np.ones(len(key))])
        centre = np.linalg.lstsq(design, (key**2).sum(axis=1))[0][:-1]
        np.testing.assert_allclose(centre, 0, atol=1e-9)


def test_shared_is_one_shift_and_one_scale_for_all_heads(constants: xr.Dataset) -> None:
    constant = constants.sel(normalization="shared")
    assert len(np.unique(constant.scale)) == 1
    assert len(np.unique(constant["shift"].values.reshape(-1, constant.sizes["channel"]), axis=0)) == 1


def test_the_shared_shift_is_the_mean_of_those_to_the_centroids(constants: xr.Dataset) -> None:
    mean = constants["shift"].sel(normalization="centroid").mean(["layer", "head"])
    shared = constants.sel(normalization="shared")[{"layer": 0, "head": 0}]
    np.testing.assert_allclose(shared["shift"] * shared.scale, mean, rtol=1e-9)


def test_only_scaled_and_shared_have_a_scale(constants: xr.Dataset) -> None:
    assert (constants.scale.sel(normalization=["raw", "centroid", "sphere", "exact"]) == 1).all()
    assert len(np.unique(constants.scale.sel(normalization="scaled"))) > 1


def test_only_exact_mode_has_a_radius(constants: xr.Dataset) -> None:
    there = constants.radius.notnull().any(["layer", "head"])
    assert constants.normalization.values[there.values].tolist() == ["exact"]


def test_scaled_is_never_worse_than_centroid_and_raw(constants: xr.Dataset) -> None:
    """The comparison is by the measure that chose the scale; the tolerance is for float32."""
    correlation = constants.weighted_correlation
    others = correlation.sel(normalization=["raw", "centroid"]).min("normalization")
    assert (correlation.sel(normalization="scaled") <= others + 1e-3).all()


@EVERY
def test_weighted_correlation_is_that_of_the_pairs_of_the_sample(
    name: str, corpus: store.Corpus, constants: xr.Dataset, sample: int
) -> None:
    """The expected value is over all pairs of the sample's sentences; the threshold is the next distance itself."""
    dots, distances = [], []
    for sentence in range(sample):
        before = [heads[1, 0] for heads in vectors(corpus, range(sentence, sentence + 1), np.float32)]
        query, key = (heads[1, 0] for heads in apply(constants, name, *vectors(corpus, range(sentence, sentence + 1))))
        dots.append((before[0] @ before[1].T).ravel())
        distances.append(cdist(query, key).ravel())
    stored = constants.sel(normalization=name)[{"layer": 1, "head": 0}]
    expected = weighted_by_hand(np.concatenate(dots), np.concatenate(distances), int(stored.pairs))
    assert float(stored.weighted_correlation) == pytest.approx(expected, abs=1e-3)


def weighted_by_hand(dot: np.ndarray, distance: np.ndarray, pairs: int) -> float:
    order = np.argsort(distance)[: pairs + 1]
    weight = (distance[order[-1]] - distance[order[:-1]]) ** 2
    matrix = np.cov(dot[order[:-1]], distance[order[:-1]], aweights=weight)
    return float(matrix[0, 1] / np.sqrt(matrix[0, 0] * matrix[1, 1]))


@EVERY
def test_spearman_is_what_scipy_says_of_sentences_no_fit_has_seen(
    name: str, corpus: store.Corpus, constants: xr.Dataset, sample: int
) -> None:
    stored = constants.spearman.sel(normalization=name)[0, 1]
    by_sentence = []
    for sentence in range(sample, corpus.n_sentences):
        query, key = (heads[0, 1] for heads in vectors(corpus, range(sentence, sentence + 1)))
        distance = cdist(
            *(heads[0, 1] for heads in apply(constants, name, *vectors(corpus, range(sentence, sentence + 1)))),
            "cosine",
        )
        by_sentence.append(np.mean([spearmanr(*rows).statistic for rows in zip(query @ key.T, distance, strict=True)]))
    assert float(stored) == pytest.approx(np.mean(by_sentence), abs=2e-3)


def test_exact_mode_is_perfect_in_head_space(constants: xr.Dataset) -> None:
    """The exceptions are keys of unseen sentences that are longer than the radius."""
    np.testing.assert_allclose(constants.spearman.sel(normalization="exact"), -1, atol=5e-3)


def test_with_few_pairs_there_is_no_scale(tiny_corpus: store.Corpus) -> None:
    constants = tiny_corpus.normalizations
    assert (constants.scale == 1).all()
    assert constants.weighted_correlation.isnull().all()
    shift = constants["shift"]
    np.testing.assert_allclose(shift.sel(normalization="scaled"), shift.sel(normalization="centroid"), rtol=1e-5)


def test_layers_and_heads_are_numbered(corpus: store.Corpus, constants: xr.Dataset) -> None:
    for name in ("layer", "head"):
        assert constants[name].values.tolist() == list(range(corpus.query.sizes[name]))


def test_every_normalization_is_explained(constants: xr.Dataset) -> None:
    assert constants.normalization.values.tolist() == list(NORMALIZATIONS)
    assert constants.attrs["fitted_on"].startswith("the first ")
    assert constants.attrs["judged_on"].endswith(" held-out sentences")


@pytest.mark.parametrize(("judged", "commits_of_26_and_40"), [(2, 1), pytest.param(100, 2, marks=pytest.mark.slow)])
def test_normalizations_are_computed_again_only_where_sample_or_judges_have_grown(
    judged: int,
    commits_of_26_and_40: int,
    ingest: Ingest,
    commits: Callable[[str], list[str]],
    tmp_path: Path,
) -> None:
    """Of 26 sentences 10 can judge, of 40 sentences 24; the sample is the same."""
    for sentences in (26, 40):
        place = ingest(tmp_path / "store", sentences=sentences, judged_sentences=judged)
    assert sum(": normalisations" in message for message in commits(place)) == commits_of_26_and_40
