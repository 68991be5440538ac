"""The divergence of heads when a corpus grows, an ingest is killed, or runs on another device."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import store
from ingest import pipeline
from ingest.heads import divergence
from store.repository.errors import StoreError
from tests.interruption import Target, interrupted
from tests.stores import ingest_without

Ingest = Callable[..., str]
#: Sentences whose tokens are a part of the whole corpus's sample.
FEW = 10
#: Sentences with more tokens than the sample.
MANY = 36


@pytest.fixture
def copy(few: str) -> str:
    return few


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A device that is not named `cpu`, so that kernels run in torch."""
    monkeypatch.setattr(pipeline, "find_device", lambda _: torch.device("cpu", 0))
    return monkeypatch


def test_divergence_after_growing_is_that_of_the_whole(copy: str, ingest: Ingest, tiny_store: str) -> None:
    before = store.open_corpus(copy).divergence
    after = store.open_corpus(ingest(copy)).divergence
    assert after.identical(store.open_corpus(tiny_store).divergence)
    assert after.attrs["sentences"] > before.attrs["sentences"] == FEW


def test_growing_beyond_the_sample_measures_nothing_again(
    ingest: Ingest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.open_corpus(ingest(tmp_path / "store", sentences=MANY)).divergence
    monkeypatch.delattr(divergence, "_divergence")
    assert store.open_corpus(ingest(tmp_path / "store")).divergence.identical(before)


@pytest.mark.slow
@pytest.mark.parametrize("moment", [(divergence, "create_arrays"), (pipeline, "complete")])
def test_divergence_of_a_plan_is_not_seen_before_its_sentences(
    moment: Target, copy: str, ingest: Ingest, odd_model: Path, tiny_store: str
) -> None:
    """The ingest is killed, and another model is published meanwhile."""
    before = store.open_corpus(copy)
    expected = before.divergence
    interrupted(ingest, copy, moment, after=0)
    ingest(copy, model=odd_model, sentences=5)
    assert store.open_snapshot(copy).corpus(before.name).divergence.identical(expected)
    ingest(copy)
    divergence = store.open_snapshot(copy).corpus(before.name).divergence
    assert divergence.identical(store.open_corpus(tiny_store).divergence)


@pytest.mark.slow
def test_a_model_whose_divergence_is_measured_for_the_first_time_has_none(
    ingest: Ingest, odd_model: Path, tmp_path: Path
) -> None:
    place = tmp_path / "store"
    name = store.open_corpus(ingest_without("divergence", ingest, place)).name
    interrupted(ingest, place, (pipeline, "complete"), after=0)
    ingest(place, model=odd_model, sentences=5)
    with pytest.raises(StoreError, match=r"Divergence between heads: not computed"):
        _ = store.open_snapshot(str(place)).corpus(name).divergence
    ingest(place)
    assert np.isfinite(store.open_snapshot(str(place)).corpus(name).divergence.divergence).all()


@pytest.mark.slow
def test_beyond_a_cpu_the_whole_corpus_is_measured_and_not_again_on_a_cpu(
    copy: str, ingest: Ingest, gpu: pytest.MonkeyPatch
) -> None:
    corpus = store.open_corpus(ingest(copy))
    assert corpus.divergence.attrs["sentences"] == corpus.n_sentences
    assert corpus.divergence.attrs["tokens"] == corpus.n_tokens
    gpu.undo()
    assert store.open_corpus(ingest(copy)).snapshot == corpus.snapshot


@pytest.mark.slow
def test_a_sample_of_all_is_the_same_on_both_devices(copy: str, ingest: Ingest, gpu: pytest.MonkeyPatch) -> None:
    assert gpu
    divergence, expected = (
        store.open_corpus(ingest(Path(place), sentences=FEW, seed=0)).divergence.divergence
        for place in (Path(copy).with_name("fresh"), copy)
    )
    np.testing.assert_allclose(divergence, expected, rtol=1e-5)


@pytest.mark.slow
def test_growing_on_a_cpu_keeps_what_was_measured_over_more_than_the_sample(
    ingest: Ingest, gpu: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = store.open_corpus(ingest(tmp_path / "store", sentences=MANY)).divergence
    gpu.undo()
    after = store.open_corpus(ingest(tmp_path / "store"))
    assert after.n_sentences > before.attrs["sentences"] == MANY
    assert after.divergence.identical(before)
