"""`ingest.heads.importance`: its losses, against transformers' own models in float64."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from ingest.family.bert import trained
from ingest.heads.importance import (
    NO_ANSWER,
    ImportanceTask,
    SilencedModel,
    find_kind,
    label_task,
    masked_task,
    next_task,
)
from ingest.run.checkpoint import find_checkpoint
from ingest.run.errors import IngestError
from ingest.text.blocks import Block
from store.schema.corpus import CLS, SEP
from tests.family_models import save_family
from tests.tiny_models import save_model

LENGTHS = np.array([5, 9, 4, 7], np.int32)
LABELS = np.array([0, 1, 1, 0])
CLS_ID, SEP_ID, MASK_ID = 2, 3, 4
CHANNELS = 8
HEADS = pytest.mark.parametrize("silenced", [(0, 0), (0, 1), (1, 0), (1, 1)])
ARCHITECTURES = trained("Bert")
KINDS = pytest.mark.parametrize("kind", list(ARCHITECTURES))
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("judged")
    return {kind: save_model(place / kind, architecture=name) for kind, name in ARCHITECTURES.items()}


@pytest.fixture(scope="module")
def sentences() -> Block:
    ids = np.random.default_rng(0).integers(20, 60, int(LENGTHS.sum())).astype(np.int32)
    flags = np.zeros(len(ids), np.uint8)
    stop = np.cumsum(LENGTHS)
    ids[stop - LENGTHS], ids[stop - 1] = CLS_ID, SEP_ID
    flags[stop - LENGTHS], flags[stop - 1] = CLS, SEP
    return Block(0, len(ids), LENGTHS, ids, flags)


@pytest.fixture(scope="module")
def tasks(sentences: Block) -> dict[str, ImportanceTask]:
    masked = masked_task(sentences, mask_id=MASK_ID, seed=0)
    return {"mlm": masked, "classification": label_task(sentences, LABELS)}


def reference_model(folder: Path, kind: str) -> Any:
    model = getattr(transformers, ARCHITECTURES[kind])
    return model.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64).eval()


def reference_loss(model: Any, kind: str, task: ImportanceTask) -> float:
    """Loss by transformers, sentence by sentence, without padding."""
    total = 0.0
    stops = np.cumsum(task.block.lengths)
    for number, (stop, size) in enumerate(zip(stops, task.block.lengths, strict=True)):
        ids, answer = (torch.from_numpy(column[stop - size : stop].astype(np.int64))[None] for column in _columns(task))
        is_answer = answer != NO_ANSWER
        labels = answer.masked_fill(~is_answer, -100) if kind == "mlm" else torch.tensor([int(LABELS[number])])
        with torch.no_grad():
            total += float(model(input_ids=ids, labels=labels).loss) * int(is_answer.sum())
    return total / task.answers


def _columns(task: ImportanceTask) -> tuple[np.ndarray, np.ndarray]:
    return task.block.token_ids, task.answer


def without_columns(model: Any, layer: int, head: int) -> Any:
    """The model with zeros in the columns of the output projection that read this head."""
    with torch.no_grad():
        dense = model.bert.encoder.layer[layer].attention.output.dense
        dense.weight[:, head * CHANNELS : (head + 1) * CHANNELS] = 0
    return model


@KINDS
def test_the_loss_of_the_whole_model_is_that_of_transformers(
    kind: str, folders: dict[str, Path], tasks: dict[str, ImportanceTask]
) -> None:
    judged = SilencedModel(find_checkpoint(str(folders[kind])), kind, device=CPU)
    expected = reference_loss(reference_model(folders[kind], kind), kind, tasks[kind])
    np.testing.assert_allclose(judged.loss(tasks[kind]), expected, rtol=1e-5)


class OnAppleGpu:
    """A tensor on a device without float64."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor

    def cpu(self) -> torch.Tensor:
        return self._tensor

    def double(self) -> torch.Tensor:
        raise TypeError("the MPS framework doesn't support float64")


class AppleModel(SilencedModel):
    def _answer(self, *given: Any) -> OnAppleGpu:
        return OnAppleGpu(super()._answer(*given))


def test_a_device_without_float64_has_the_same_loss(folders: dict[str, Path], tasks: dict[str, ImportanceTask]) -> None:
    judged, expected = (
        model(find_checkpoint(str(folders["mlm"])), "mlm", device=CPU).loss(tasks["mlm"])
        for model in (AppleModel, SilencedModel)
    )
    assert judged == expected


@KINDS
@HEADS
def test_a_silenced_head_is_one_that_the_output_projection_does_not_read(
    kind: str, silenced: tuple[int, int], folders: dict[str, Path], tasks: dict[str, ImportanceTask]
) -> None:
    judged = SilencedModel(find_checkpoint(str(folders[kind])), kind, device=CPU)
    model = without_columns(reference_model(folders[kind], kind), *silenced)
    expected = reference_loss(model, kind, tasks[kind])
    np.testing.assert_allclose(judged.loss(tasks[kind], silenced), expected, rtol=1e-5)


@pytest.mark.parametrize("silenced", [None, (1, 1)])
def test_the_loss_of_the_next_wordpiece_is_that_of_transformers(
    silenced: tuple[int, int] | None, sentences: Block, tmp_path: Path
) -> None:
    folder = save_family(tmp_path / "model", "gpt2", "next")
    model = transformers.GPT2LMHeadModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64)
    if silenced is not None:
        projection = model.transformer.h[silenced[0]].attn.c_proj.weight
        size = len(projection) // model.config.n_head
        with torch.no_grad():
            projection[silenced[1] * size : (silenced[1] + 1) * size] = 0
    total = 0.0
    for ids in np.split(sentences.token_ids.astype(np.int64), np.cumsum(LENGTHS)[:-1]):
        given = torch.from_numpy(ids)[None]
        with torch.no_grad():
            total += float(model.eval()(input_ids=given, labels=given).loss) * (len(ids) - 1)
    task = next_task(replace(sentences, token_flags=np.zeros(sentences.tokens, np.uint8)))
    judged = SilencedModel(find_checkpoint(str(folder)), "next", device=CPU)
    np.testing.assert_allclose(judged.loss(task, silenced), total / (sentences.tokens - len(LENGTHS)), rtol=1e-5)


def test_a_gpt2_whose_head_was_left_out_measures_no_loss(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="model predicts neither words nor labels"):
        find_kind(find_checkpoint(str(save_family(tmp_path / "model", "gpt2"))))


def test_silencing_a_head_that_is_not_read_changes_nothing(
    folders: dict[str, Path], tasks: dict[str, ImportanceTask], tmp_path: Path
) -> None:
    model = without_columns(transformers.BertForMaskedLM.from_pretrained(folders["mlm"]), 1, 0)
    model.save_pretrained(tmp_path)
    for file in folders["mlm"].glob("tokenizer*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    judged = SilencedModel(find_checkpoint(str(tmp_path)), "mlm", device=CPU)
    assert judged.loss(tasks["mlm"], (1, 0)) == judged.loss(tasks["mlm"])


def test_a_head_speaks_again_after_it_was_silenced(folders: dict[str, Path], tasks: dict[str, ImportanceTask]) -> None:
    judged = SilencedModel(find_checkpoint(str(folders["mlm"])), "mlm", device=CPU)
    before = judged.loss(tasks["mlm"])
    assert judged.loss(tasks["mlm"], (0, 1)) != before
    assert judged.loss(tasks["mlm"]) == before


@KINDS
@pytest.mark.parametrize("safe", [True, False], ids=["safetensors", "bin"])
def test_a_checkpoint_is_judged_by_the_head_it_has(
    kind: str, safe: bool, folders: dict[str, Path], saved: Callable[[Path, bool], Path]
) -> None:
    assert find_kind(find_checkpoint(str(saved(folders[kind], safe)))) == kind


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[Path, bool], Path]:
    """A function that copies a checkpoint, with weights in the old form if asked."""

    def saved(folder: Path, safe: bool) -> Path:
        for file in folder.iterdir():
            (tmp_path / file.name).write_bytes(file.read_bytes())
        if not safe:
            from safetensors.torch import load_file

            torch.save(load_file(tmp_path / "model.safetensors"), tmp_path / "pytorch_model.bin")
            (tmp_path / "model.safetensors").unlink()
        return tmp_path

    return saved
