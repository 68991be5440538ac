"""A model of the hub is taken from the cache, else from the store's record: the hub is asked only for what is needed."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import store
from dashboard.sentence.encoder import Encoder
from dashboard.web.corpus_model import CorpusModel
from dashboard.web.errors import Refusal
from ingest.run import checkpoint
from ingest.run.checkpoint import find_checkpoint, held_models
from ingest.run.errors import IngestError
from tests.hub import COMMIT
from tests.hub_cache import ModelHub
from tests.made_once import made_once
from tests.stores import FEATURES, Ingest

NAME = "somebody/known"


@pytest.fixture
def hub(tiny_model: Path, model_hub: ModelHub) -> ModelHub:
    model_hub.model = tiny_model
    return model_hub


@pytest.fixture
def finished(ingest: Ingest, hub: ModelHub, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A copy of a store of the hub's model, which is no longer in the cache. The store is made once for all tests."""
    made = made_once(tmp_path_factory, "of-the-hub", partial(ingest, model=NAME, **FEATURES))
    shutil.rmtree(hub.cache, ignore_errors=True)
    hub.asked.clear()
    checkpoint._fetched.cache_clear()
    return str(shutil.copytree(made, tmp_path / "store"))


@pytest.mark.parametrize("settings", [{}, {"stage": "projections"}, {"model": f"{NAME}@{COMMIT}"}])
def test_a_finished_store_asks_nothing_of_the_hub(
    settings: dict[str, Any], finished: str, hub: ModelHub, ingest: Ingest, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest(Path(finished), **{"model": NAME, **FEATURES, **settings})
    assert hub.asked == []
    assert "Nothing to do: " in capsys.readouterr().out


@pytest.mark.slow
def test_what_is_missing_is_computed_with_the_revision_of_the_store(
    finished: str, hub: ModelHub, ingest: Ingest
) -> None:
    ingest(Path(finished), model=NAME, sentences=80, **FEATURES)
    assert set(hub.asked) == {COMMIT}
    assert store.open_corpus(finished).n_sentences == 80


def test_what_is_missing_and_out_of_reach_ends_in_a_sentence(finished: str, hub: ModelHub, ingest: Ingest) -> None:
    hub.is_reached = False
    with pytest.raises(
        IngestError,
        match=r"nor in the cache, and the hub cannot be reached .* Give a folder that save_pretrained wrote",
    ):
        ingest(Path(finished), model=NAME, sentences=80, **FEATURES)


def test_the_newest_revision_is_asked_of_the_hub(finished: str, hub: ModelHub) -> None:
    find_checkpoint(f"{NAME}@main", held=lambda: held_models(finished))
    assert hub.asked == ["main"]


def test_other_weights_than_those_of_the_store_are_refused(finished: str, hub: ModelHub, odd_model: Path) -> None:
    hub.model = odd_model
    found = find_checkpoint(NAME, held=lambda: held_models(finished))
    with pytest.raises(IngestError, match=f"other weights of {NAME} than the store. Give --model={NAME}@main"):
        _ = found.folder


def test_a_typed_sentence_takes_the_revision_of_the_store_from_the_cache(
    finished: str, hub: ModelHub, odd_model: Path
) -> None:
    model, encoder = CorpusModel.of(store.open_corpus(finished)), Encoder()
    shutil.copytree(hub.model, hub.cache / COMMIT)
    hub.model = odd_model  # the hub has a newer revision by now
    assert encoder.encode(model, "the film was good", "", lambda: False).wordpieces[1:5] == (
        "the",
        "film",
        "was",
        "good",
    )
    assert hub.asked == []


def test_a_typed_sentence_is_refused_where_its_model_is_nowhere(finished: str, hub: ModelHub) -> None:
    hub.is_reached = False
    with pytest.raises(Refusal, match=r"The model somebody/known cannot be loaded\. Put its checkpoint back"):
        Encoder().encode(CorpusModel.of(store.open_corpus(finished)), "the film", "", lambda: False)
