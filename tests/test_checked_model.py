"""`headscape check-model`: its lines on the head that a model was trained with, and on counts of 1."""

from functools import partial
from pathlib import Path

import pytest

import store
from headscape.__main__ import main as headscape
from ingest.heads.importance import find_kind
from ingest.run.checkpoint import find_checkpoint
from ingest.run.errors import IngestError
from store.repository.arrays import array_of
from tests.family_models import save_family
from tests.tiny_models import save_model

NONE = "none: head importance does not apply"
#: Models with a head that has the name of a classifier's head, and with a classifier of a single answer.
OTHERS = {
    "multiple choice": partial(save_model, architecture="BertForMultipleChoice"),
    "regression": partial(save_model, architecture="BertForSequenceClassification", labels=("score",)),
}


def told_of(model: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The lines of the check, by their subject."""
    assert headscape(["check-model", str(model)]) == 0
    return {line[:22].strip(): line[23:] for line in capsys.readouterr().out.splitlines()}


@pytest.mark.parametrize("head", OTHERS)
def test_a_head_that_is_no_classifier_of_texts_measures_no_loss(
    head: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = OTHERS[head](tmp_path / "model")
    with pytest.raises(IngestError, match="model predicts neither words nor labels"):
        find_kind(find_checkpoint(str(model)))
    assert told_of(model, capsys)["trained head"] == NONE


def test_a_classifier_is_one_for_the_check_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save_model(tmp_path / "model", architecture="BertForSequenceClassification")
    assert told_of(model, capsys)["trained head"] == "labels"


def test_one_head_with_one_channel_is_spoken_of_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save_family(tmp_path / "model", "bert", sizes={"hidden_size": 1, "num_attention_heads": 1})
    assert told_of(model, capsys)["layers, heads"] == "3 of 1 head with 1 channel"


def test_the_bytes_of_a_token_are_those_of_its_arrays(
    tiny_model: Path, tiny_corpus: store.Corpus, tiny_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    group = store.open_snapshot(tiny_store).group(f"models/{tiny_corpus.name}")
    arrays = [array_of(group, name) for name in ("query", "key", "value_norm", "token_statistic", "token_mixing")]
    size = sum(array.nbytes // array.shape[array.metadata.dimension_names.index("token")] for array in arrays)
    assert told_of(tiny_model, capsys)["stored"] == f"{size:,} bytes a token before compression"
