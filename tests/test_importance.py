"""Stage `importance` of a whole ingest: its numbers, what readers get, and that nothing is computed twice."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertForMaskedLM

import store
from ingest.heads.importance import NO_ANSWER, SilencedModel, masked_task
from ingest.run.checkpoint import find_checkpoint
from ingest.text.blocks import Block
from store.replacement import ordered_heads
from store.repository.errors import StoreError
from store.schema.corpus import CLS, SEP
from store.verify import verify
from tests.interruption import interrupted
from tests.stores import Ingest
from tests.tiny_models import save_model

Computed = list[tuple[int, int] | None]
SENTENCES = 6
BUDGET = 30
EVERY_HEAD = [None, (0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.fixture(scope="module")
def guessing_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT that guesses masked words."""
    return save_model(tmp_path_factory.mktemp("guessing") / "guesser", architecture="BertForMaskedLM")


@pytest.fixture(scope="module")
def judge(ingest: Ingest, guessing_model: Path) -> Ingest:
    """A function that ingests with the guessing model; its settings can be replaced."""

    def judge(place: Path, **settings: Any) -> str:
        return ingest(place, **({"model": guessing_model, "sentences": BUDGET, "importance": SENTENCES} | settings))

    return judge


@pytest.fixture(scope="module")
def judged_store(judge: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return judge(tmp_path_factory.mktemp("judged") / "store")


@pytest.fixture
def copy(judged_store: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(judged_store, tmp_path / "store"))


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Computed:
    """Silenced heads of every loss that is computed from now on; None is the whole model."""
    computed: Computed = []
    loss = SilencedModel.loss

    def listen(model: SilencedModel, task: Any, silenced: tuple[int, int] | None = None) -> float:
        computed.append(silenced)
        return loss(model, task, silenced)

    monkeypatch.setattr(SilencedModel, "loss", listen)
    return computed


def test_every_head_has_a_change(judged_store: str) -> None:
    change = store.open_corpus(judged_store).importance.change
    assert change.dims == ("layer", "head")
    assert (change.values != 0).all()


def test_the_loss_without_a_head_is_that_of_transformers_without_its_weights_in_the_projection(
    guessing_model: Path,
) -> None:
    flags = np.array([CLS, *[0] * 10, SEP], np.uint8)
    sentence = Block(0, 12, np.array([12], np.int32), np.arange(20, 32, dtype=np.int32), flags)
    task = masked_task(sentence, mask_id=4, seed=0)
    checkpoint = find_checkpoint(str(guessing_model))
    loss = SilencedModel(checkpoint, "mlm", device=torch.device("cpu")).loss(task, (1, 1))
    bare = BertForMaskedLM.from_pretrained(guessing_model).eval()
    answers = torch.from_numpy(np.where(task.answer == NO_ANSWER, -100, task.answer))[None]
    with torch.no_grad():
        bare.bert.encoder.layer[1].attention.output.dense.weight[:, 8:16] = 0
        expected = bare(torch.from_numpy(task.block.token_ids)[None], labels=answers).loss
    assert loss == pytest.approx(float(expected), rel=1e-5)


def test_readers_learn_of_which_loss_and_of_how_many_sentences(judged_store: str) -> None:
    attributes = store.open_corpus(judged_store).importance.attrs
    assert (attributes["kind"], attributes["sentences"]) == ("mlm", SENTENCES)
    assert attributes["answers"] >= SENTENCES
    # Random weights predict worse than guessing, within a bound.
    assert 1 < attributes["loss"] < 100


def test_the_least_important_heads_come_first(judged_store: str) -> None:
    corpus = store.open_corpus(judged_store)
    change = corpus.importance.change.values
    assert np.diff([change[head] for head in ordered_heads(corpus, "unimportant")]).min() >= 0


def test_a_store_with_importance_is_sound(judged_store: str) -> None:
    assert list(verify(store.open_snapshot(judged_store))) == []


def test_asking_again_computes_nothing(copy: Path, judge: Ingest, computed: Computed) -> None:
    judge(copy)
    assert computed == []


def test_missing_importance_names_the_command(tiny_store: str) -> None:
    with pytest.raises(StoreError, match=r"Run `headscape ingest --importance=100`\.$"):
        _ = store.open_corpus(tiny_store).importance


def test_asking_without_it_keeps_what_is_there(copy: Path, judge: Ingest, computed: Computed) -> None:
    before = store.open_corpus(str(copy)).importance
    judge(copy, importance=0, views="pca-exact-2d,pca-raw-2d")
    assert store.open_corpus(str(copy)).importance.identical(before)
    assert computed == []


def test_another_number_of_sentences_is_computed_anew(copy: Path, judge: Ingest, computed: Computed) -> None:
    judge(copy, importance=SENTENCES + 2)
    assert computed == EVERY_HEAD
    assert store.open_corpus(str(copy)).importance.attrs["sentences"] == SENTENCES + 2


@pytest.mark.slow
def test_growth_that_brings_other_sentences_is_computed_anew(copy: Path, judge: Ingest, computed: Computed) -> None:
    """Importance is asked for on all sentences, of which there are more now."""
    judge(copy, importance=1000)
    computed.clear()
    judge(copy, importance=1000, sentences=BUDGET + 5)
    assert computed == EVERY_HEAD
    assert store.open_corpus(str(copy)).importance.attrs["sentences"] == BUDGET + 5


def test_growth_beyond_the_sentences_tried_computes_nothing(copy: Path, judge: Ingest, computed: Computed) -> None:
    judge(copy, sentences=BUDGET + 5)
    assert computed == []


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(
    judge: Ingest, judged_store: str, tmp_path: Path, computed: Computed
) -> None:
    interrupted(judge, tmp_path / "store", (SilencedModel, "loss"), after=4)
    judge(tmp_path / "store")
    # The first head of layer 1 was not committed when the run ended.
    assert computed == [None, (0, 0), (0, 1), (1, 0), (1, 0), (1, 1)]
    importance, expected = (store.open_corpus(place).importance for place in (str(tmp_path / "store"), judged_store))
    np.testing.assert_array_equal(importance.change, expected.change)


@pytest.mark.slow
def test_readers_of_a_killed_run_have_the_numbers_of_the_run_before(copy: Path, judge: Ingest) -> None:
    before = store.open_corpus(str(copy)).importance
    interrupted(judge, copy, (SilencedModel, "loss"), after=4, importance=SENTENCES + 2)
    # Readers see the committed heads after another publication.
    judge(copy, importance=0, views="pca-exact-2d,pca-raw-2d")
    assert store.open_corpus(str(copy)).importance.change.equals(before.change)


def test_a_classifier_is_judged_by_its_own_loss(ingest: Ingest, tmp_path: Path) -> None:
    model = save_model(tmp_path / "classifier", architecture="BertForSequenceClassification")
    importance = store.open_corpus(
        ingest(tmp_path / "store", model=model, sentences=BUDGET, importance=SENTENCES)
    ).importance
    assert (importance.attrs["kind"], importance.attrs["answers"]) == ("classification", SENTENCES)


def test_a_model_that_guesses_nothing_is_refused_before_anything_is_computed(complaint: Callable[..., str]) -> None:
    assert "predicts neither words nor labels" in complaint(importance=SENTENCES, sentences=BUDGET)


def test_the_default_model_is_refused_too(complaint: Callable[..., str]) -> None:
    assert "all-MiniLM-L6-v2 predicts neither" in complaint(model="embedded", importance=SENTENCES, sentences=BUDGET)


def test_a_number_below_none_is_refused(complaint: Callable[..., str]) -> None:
    assert "--importance=-1 is too few" in complaint(importance=-1)


def test_a_classifier_of_other_labels_is_refused(complaint: Callable[..., str], tmp_path: Path) -> None:
    stars = save_model(tmp_path / "stars", architecture="BertForSequenceClassification", labels=("1", "2", "3"))
    assert "knows 3 labels (1, 2, 3), the data has 2" in complaint(model=stars, importance=2, sentences=2)
