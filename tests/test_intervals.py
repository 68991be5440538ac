"""The intervals that ingest writes, against a plain loop over the sentences."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import store
from store.kernels.statistics import source_rows
from store.repository.arrays import array_of
from store.schema.model import BOUNDS, SOURCES
from tests.stores import Ingest, rewritten


@pytest.fixture(scope="module")
def corpus(tiny_store: str) -> store.Corpus:
    return store.open_corpus(tiny_store)


def sentence_means(corpus: store.Corpus, source: str, statistic: str) -> list[np.ndarray | None]:
    """Mean (layer, head) of every sentence in float64; None where it has no rows of the source."""
    values = corpus.token_statistic.sel(statistic=statistic).values.astype(np.float64)
    means: list[np.ndarray | None] = []
    for sentence in range(corpus.n_sentences):
        rows = corpus.sentence_rows(sentence)
        flags = corpus.tokens.token_flags.values[rows]
        chosen = source_rows(flags, np.ones(len(flags), bool))[SOURCES.index(source)]
        means.append(values[..., rows][..., chosen].mean(axis=-1) if chosen.any() else None)
    return means


def resampled(means: np.ndarray) -> np.ndarray:
    """Means (replicate, ...) over sentences drawn with replacement from (sentence, ...): Efron's bootstrap."""
    draws = np.random.default_rng(5).integers(len(means), size=(4000, len(means)))
    counts = np.stack([np.bincount(draw, minlength=len(means)) for draw in draws])
    return np.tensordot(counts / len(means), means, 1)


def check_interval(interval: np.ndarray, replicates: np.ndarray) -> None:
    """Assert that an interval (bound, ...) agrees with the replicates (replicate, ...) of another bootstrap.

    A percentile of 500 replicates has itself an error of about a ninth of their deviation.
    """
    expected = np.percentile(replicates, [2.5, 97.5], axis=0)
    deviation = replicates.std(axis=0)
    assert (np.abs(interval - expected) <= 0.5 * deviation + 1e-12).all()
    spread = deviation > 1e-9
    widths = (interval[1] - interval[0])[spread] / (expected[1] - expected[0])[spread]
    assert 0.9 < widths.mean() < 1.1


@pytest.mark.parametrize("source", ["all", "word", "other", "cls", "sep"])
@pytest.mark.parametrize("statistic", ["to_sep", "entropy", "received"])
def test_an_interval_is_that_of_another_bootstrap(source: str, statistic: str, corpus: store.Corpus) -> None:
    means = np.stack([mean for mean in sentence_means(corpus, source, statistic) if mean is not None])
    stored = corpus.head_interval.sel(source=source, statistic=statistic)
    check_interval(stored.transpose("bound", "layer", "head").values, resampled(means))


@pytest.mark.parametrize("source", ["all", "other"])
def test_an_interval_of_a_layer_is_that_of_another_bootstrap(source: str, corpus: store.Corpus) -> None:
    means = np.stack([mean for mean in sentence_means(corpus, source, "entropy") if mean is not None])
    stored = corpus.layer_interval.sel(source=source, statistic="entropy")
    check_interval(stored.transpose("bound", "layer").values, resampled(means.mean(axis=2)))


@pytest.mark.parametrize("source", SOURCES)
def test_a_mean_is_that_of_the_stored_rows(source: str, corpus: store.Corpus) -> None:
    for statistic in corpus.head_statistic.statistic.values:
        rows = [mean for mean in sentence_means(corpus, source, statistic) if mean is not None]
        stored = corpus.head_statistic.sel(source=source, statistic=statistic)
        expected = np.mean(rows, axis=0) if rows else np.full(stored.shape, np.nan)
        np.testing.assert_allclose(stored, expected, rtol=1e-12)


def test_an_interval_is_labelled(corpus: store.Corpus) -> None:
    assert corpus.head_interval.dims == ("bound", "source", "statistic", "layer", "head")
    assert corpus.head_interval.bound.values.tolist() == list(BOUNDS)
    assert corpus.layer_interval.dims == ("bound", "source", "statistic", "layer")


def test_every_mean_lies_within_its_interval(corpus: store.Corpus) -> None:
    for interval, mean in (
        (corpus.head_interval, corpus.head_statistic),
        (corpus.layer_interval, corpus.head_statistic.mean("head")),
    ):
        low, high = interval.sel(bound="low"), interval.sel(bound="high")
        assert int(low.notnull().sum()) > 100
        assert int(((mean < low - 1e-12) | (mean > high + 1e-12)).sum()) == 0


def test_more_sentences_make_an_interval_narrower(corpus: store.Corpus, few_store: str) -> None:
    few = store.open_corpus(few_store)
    widths = [_width(opened.head_interval.sel(source="all", statistic="entropy")) for opened in (few, corpus)]
    assert widths[1] < widths[0]


def _width(interval: xr.DataArray) -> float:
    return float((interval.sel(bound="high") - interval.sel(bound="low")).mean())


def test_another_ingest_of_the_same_finds_the_same_bit_for_bit(corpus: store.Corpus, plain_store: str) -> None:
    again = store.open_corpus(plain_store)
    assert again.head_interval.equals(corpus.head_interval)


def test_intervals_of_another_version_are_found_again(ingest: Ingest, plain_store: str, tmp_path: Path) -> None:
    place, expected = shutil.copytree(plain_store, tmp_path / "store"), store.open_corpus(plain_store)
    with rewritten(place) as writer:
        group = writer.group(f"models/{expected.name}")
        array_of(group, "head_interval")[:] = 0
        group.attrs["intervals_version"] = "intervals/before"
    assert store.open_corpus(ingest(Path(place))).head_interval.equals(expected.head_interval)
