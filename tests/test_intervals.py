"""The intervals that ingest writes, against a plain loop over the sentences."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import store
from ingest import intervals
from store.kernels.bootstrap import draw_counts
from store.kernels.statistics import source_rows
from store.schema import BOUNDS, SOURCES
from tests.stores import BLOCK, Ingest


@pytest.fixture(scope="module")
def corpus(tiny_store: str) -> store.Corpus:
    return store.open_corpus(tiny_store)


def sentence_means(corpus: store.Corpus, source: str, statistic: str) -> list[np.ndarray | None]:
    """Of every sentence in float64, (layer, head), None where it has no such rows."""
    values = corpus.token_statistic.sel(statistic=statistic).values.astype(np.float64)
    means: list[np.ndarray | None] = []
    for sentence in range(corpus.n_sentences):
        rows = corpus.sentence_rows(sentence)
        flags = corpus.tokens.token_flags.values[rows]
        chosen = source_rows(flags, np.ones(len(flags), bool))[SOURCES.index(source)]
        means.append(values[..., rows][..., chosen].mean(axis=-1) if chosen.any() else None)
    return means


def counts_of_sentences(corpus: store.Corpus) -> np.ndarray:
    """What the ingest draws: (sentence, replicate)."""
    block = corpus.sentences.row_start.values // BLOCK
    return np.concatenate([draw_counts(0, one, int((block == one).sum())) for one in range(int(block[-1]) + 1)])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("statistic", ["to_sep", "entropy", "received"])
def test_an_interval_is_that_of_the_replicates_means(source: str, statistic: str, corpus: store.Corpus) -> None:
    counts = counts_of_sentences(corpus)
    have = [
        (mean, count)
        for mean, count in zip(sentence_means(corpus, source, statistic), counts, strict=True)
        if mean is not None
    ]
    if len(have) < 2:
        expected = np.full((2, corpus.layers, corpus.heads), np.nan)
    else:
        total = sum(count for _, count in have)
        sums = sum(mean[..., None] * count for mean, count in have)
        expected = np.percentile((sums / total)[..., total > 0], [2.5, 97.5], axis=-1)
    found = corpus.head_interval.sel(source=source, statistic=statistic)
    np.testing.assert_allclose(found.transpose("bound", "layer", "head"), expected, rtol=1e-4)


@pytest.mark.parametrize("source", ["all", "other"])
def test_an_interval_of_a_layer_is_that_of_the_replicates_means_over_heads(source: str, corpus: store.Corpus) -> None:
    means = np.stack([mean for mean in sentence_means(corpus, source, "entropy") if mean is not None])
    counts = counts_of_sentences(corpus)
    replicates = np.einsum("slh,sr->lhr", means, counts).mean(axis=1) / counts.sum(axis=0)
    expected = np.percentile(replicates, [2.5, 97.5], axis=-1)
    found = corpus.layer_interval.sel(source=source, statistic="entropy")
    np.testing.assert_allclose(found.transpose("bound", "layer"), expected, rtol=1e-4)


def test_an_interval_is_labelled(corpus: store.Corpus) -> None:
    assert corpus.head_interval.dims == ("bound", "source", "statistic", "layer", "head")
    assert corpus.head_interval.bound.values.tolist() == list(BOUNDS)
    assert corpus.layer_interval.dims == ("bound", "source", "statistic", "layer")


def test_every_mean_lies_within_its_interval(corpus: store.Corpus) -> None:
    low, high = corpus.head_interval.sel(bound="low"), corpus.head_interval.sel(bound="high")
    known = low.notnull() & (high - low > 1e-3)
    assert bool(known.sel(source="all", statistic="entropy").all())
    # Per-token statistics are float16, the mean is not.
    assert bool(((corpus.head_statistic > low - 1e-3) & (corpus.head_statistic < high + 1e-3)).where(known, True).all())


def test_more_sentences_make_an_interval_narrower(
    corpus: store.Corpus, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    few = store.open_corpus(ingest(tmp_path_factory.mktemp("few") / "store", sentences=6))
    widths = [_width(one.head_interval.sel(source="all", statistic="entropy")) for one in (few, corpus)]
    assert widths[1] < widths[0]


def _width(interval: xr.DataArray) -> float:
    return float((interval.sel(bound="high") - interval.sel(bound="low")).mean())


def test_another_ingest_of_the_same_finds_the_same_bit_for_bit(
    corpus: store.Corpus, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    again = store.open_corpus(ingest(tmp_path_factory.mktemp("again") / "store"))
    assert again.head_interval.equals(corpus.head_interval)


def test_intervals_of_another_version_are_found_again(
    ingest: Ingest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ingest(tmp_path / "store")
    monkeypatch.setattr(intervals, "VERSION", "intervals/next")
    monkeypatch.setattr(
        intervals, "draw_counts", lambda _seed, _block, sentences: np.ones((sentences, 500), np.float32)
    )
    low, high = store.open_corpus(ingest(place)).head_interval.sel(source="all")
    np.testing.assert_allclose(low, high)
