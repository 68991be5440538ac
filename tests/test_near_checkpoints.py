"""Folders that training and its libraries write: read where the weights are whole, else refused with their kind."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from ingest.encode.loading import load_model
from ingest.heads.importance import find_kind
from ingest.run.checkpoint import find_checkpoint
from ingest.run.errors import IngestError
from tests.broken_model import change_config, change_weights
from tests.tiny_models import save_model

Complaint = Callable[..., str]
QUERY = "encoder.layer.0.attention.self.query.weight"
ADAPTER = {"peft_type": "LORA", "base_model_name_or_path": "bert-base-uncased"}


# -- wrappers around a model ----------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", ["BertModel", "BertForSequenceClassification"])
@pytest.mark.parametrize("wrapper", ["module.", "model.", "_orig_mod.", "base_model.model.", "0.auto_model."])
@pytest.mark.parametrize("file", ["model.safetensors", "pytorch_model.bin"])
def test_weights_under_a_wrapper_are_read(wrapper: str, architecture: str, file: str, tmp_path: Path) -> None:
    model = save_model(tmp_path, architecture=architecture)
    weights = load_file(model / "model.safetensors")
    (model / "model.safetensors").unlink()
    wrapped = {wrapper + name: weight for name, weight in weights.items()}
    if file.endswith(".bin"):
        torch.save(wrapped, model / file)
    else:
        save_file(wrapped, model / file, metadata={"format": "pt"})
    loaded = load_model(find_checkpoint(str(model)), "BertModel", add_pooling_layer=False).state_dict()
    own = {name.removeprefix("bert."): weight for name, weight in weights.items()}
    assert all(torch.equal(weight, own[name]) for name, weight in loaded.items())


def test_a_classifier_under_a_wrapper_is_one(tmp_path: Path) -> None:
    model = save_model(tmp_path, architecture="BertForSequenceClassification")
    path = model / "model.safetensors"
    save_file({f"module.{name}": weight for name, weight in load_file(path).items()}, path, metadata={"format": "pt"})
    assert find_kind(find_checkpoint(str(model))) == "classification"


def test_of_two_encoders_under_wrappers_none_is_chosen(broken: Path, complaint: Complaint) -> None:
    path = broken / "model.safetensors"
    both = [
        (f"{kind}.{name}", weight.clone()) for name, weight in load_file(path).items() for kind in ("query", "passage")
    ]
    save_file(dict(both), path, metadata={"format": "pt"})
    assert "embeddings.word_embeddings.weight is missing" in complaint(model=broken)


# -- weights that are computed from other weights -------------------------------------------------------


@pytest.mark.parametrize("beside", [True, False])
def test_an_adapter_is_refused_alone_and_beside_weights(beside: bool, broken: Path, complaint: Complaint) -> None:
    (broken / "adapter_config.json").write_text(json.dumps(ADAPTER | {"task_type": "SEQ_CLS"}))
    save_file({"lora_A.weight": torch.zeros(2, 2)}, broken / "adapter_model.safetensors")
    if not beside:
        for file in ("model.safetensors", "config.json"):
            (broken / file).unlink()
    told = complaint(model=broken)
    assert "has an adapter (LORA, adapter_config.json) that is not merged into the weights" in told
    assert f"peft.AutoPeftModelForSequenceClassification.from_pretrained({str(broken)!r}).merge_and_unload()" in told


def test_weights_with_an_adapter_inside_are_refused(broken: Path, complaint: Complaint) -> None:
    """A stopped training saves a model of peft like this."""
    adapted = {f"base_model.model.{QUERY}".replace("weight", f"lora_{part}.default.weight") for part in "AB"}
    change_weights(broken, lambda weights: weights.update({name: torch.zeros(2, 2) for name in adapted}))
    assert "has weights with an adapter that is not merged into them" in complaint(model=broken)


@pytest.mark.parametrize(
    ("numbers", "name"), [(torch.int8, "I8"), (torch.uint8, "U8"), (torch.float8_e4m3fn, "F8_E4M3")]
)
def test_quantized_weights_are_not_taken_as_numbers(
    numbers: torch.dtype, name: str, broken: Path, complaint: Complaint
) -> None:
    change_config(broken, quantization_config={"quant_method": "bitsandbytes"})
    change_weights(broken, lambda weights: weights.update({QUERY: weights[QUERY].to(numbers)}))
    told = complaint(model=broken)
    assert f"has weights that are quantized by bitsandbytes: {QUERY} is {name}" in told


@pytest.mark.parametrize("numbers", [torch.float64, torch.float16, torch.bfloat16])
def test_weights_of_more_or_fewer_bits_are_read(numbers: torch.dtype, broken: Path) -> None:
    change_weights(broken, lambda weights: weights.update({QUERY: weights[QUERY].to(numbers)}))
    loaded = load_model(find_checkpoint(str(broken)), "BertModel", add_pooling_layer=False)
    assert loaded.state_dict()[QUERY].dtype == torch.float32


def test_a_model_with_pruned_heads_is_refused(broken: Path, complaint: Complaint) -> None:
    """The weights may be whole: transformers would show the heads that the config leaves out."""
    change_config(broken, pruned_heads={"1": [0]})
    assert "says that heads are pruned (in layers 1)" in complaint(model=broken)


def test_a_model_that_has_pruned_no_head_is_found(broken: Path) -> None:
    change_config(broken, pruned_heads={})
    assert find_checkpoint(str(broken)).name == "broken"


# -- folders with checkpoints inside --------------------------------------------------------------------


def test_of_the_checkpoints_of_a_training_the_last_is_named(tiny_model: Path, tmp_path: Path) -> None:
    for step in ("checkpoint-500", "checkpoint-1000", "checkpoint-90"):
        shutil.copytree(tiny_model, tmp_path / "results" / step)
    with pytest.raises(IngestError) as refused:
        find_checkpoint(str(tmp_path / "results"))
    assert "results is no checkpoint, and has BERTs inside: checkpoint-90, checkpoint-500, checkpoint-1000." in str(
        refused.value
    )
    assert str(refused.value).endswith(f"Give the folder {tmp_path}/results/checkpoint-1000.")


def test_the_bert_of_a_sentence_transformers_folder_is_named(tiny_model: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_model, tmp_path / "0_Transformer")
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text("{}")
    (tmp_path / "modules.json").write_text("[]")
    with pytest.raises(IngestError, match=r"the folder of a sentence-transformers model, .* Give .*0_Transformer\.$"):
        find_checkpoint(str(tmp_path))
