"""Whatever is wrong with a checkpoint, a person gets one sentence that says what to do next."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from ingest import checkpoint
from ingest.checkpoint import find_checkpoint
from ingest.errors import IngestError

Complaint = Callable[..., str]


@pytest.fixture
def broken(tiny_model: Path, tmp_path: Path) -> Path:
    """A copy of the tiny checkpoint, to be broken."""
    return Path(shutil.copytree(tiny_model, tmp_path / "broken"))


def change_config(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


@pytest.mark.parametrize("model", ["nobody", "nobody/nothing", "no such name!"])
def test_a_model_that_is_nowhere_is_refused(model: str, complaint: Complaint) -> None:
    assert "neither a folder here nor to be had from the hub" in complaint(model=model)


def test_a_model_that_is_not_a_bert_is_refused(broken: Path, complaint: Complaint) -> None:
    change_config(broken, model_type="gpt2")
    assert "is a gpt2, not a BERT" in complaint(model=broken)


def test_a_bert_that_may_not_look_ahead_is_refused(broken: Path, complaint: Complaint) -> None:
    """Its attention is not the softmax over the whole sentence that the store recomputes."""
    change_config(broken, is_decoder=True)
    assert "decoder" in complaint(model=broken)


@pytest.mark.parametrize("text", ["{", "[1]", ""])
def test_a_config_that_is_no_json_object_is_refused(text: str, broken: Path, complaint: Complaint) -> None:
    (broken / "config.json").write_text(text)
    assert "config.json" in complaint(model=broken)


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("config.json", "has no config.json"),
        ("model.safetensors", "no weights"),
        ("tokenizer.json", "tokenizer"),
    ],
)
def test_a_folder_that_lacks_a_file_is_refused(file: str, part: str, broken: Path, complaint: Complaint) -> None:
    (broken / file).unlink()
    (broken / "tokenizer_config.json").unlink()
    assert part in complaint(model=broken)


@pytest.mark.parametrize("text", ["{", "[1]", "", '{"model": {}}', '{"model": {"type": "WordPiece"}}'])
def test_a_tokenizer_that_is_none_is_refused(text: str, broken: Path, complaint: Complaint) -> None:
    (broken / "tokenizer.json").write_text(text)
    assert "tokenizer" in complaint(model=broken)


def test_weights_that_were_cut_off_are_refused(broken: Path, complaint: Complaint) -> None:
    weights = (broken / "model.safetensors").read_bytes()
    (broken / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    assert "cannot be loaded as a BERT" in complaint(model=broken)


def test_weights_of_another_shape_are_refused(broken: Path, complaint: Complaint) -> None:
    change_config(broken, hidden_size=32)
    assert "cannot be loaded as a BERT" in complaint(model=broken)


def test_weights_that_lack_a_layer_are_refused(broken: Path, complaint: Complaint) -> None:
    """transformers would fill them with random numbers, and nobody would know."""
    save_file({"other": torch.zeros(3)}, broken / "model.safetensors", metadata={"format": "pt"})
    assert "cannot be loaded as a BERT" in complaint(model=broken)


@pytest.mark.parametrize("length", [129, 9000])
def test_sentences_longer_than_the_model_can_read_are_refused(
    length: int, tmp_path: Path, complaint: Complaint
) -> None:
    (tmp_path / "long.txt").write_text("film " * 10_000)
    assert "128" in complaint(data=tmp_path / "long.txt", max_length=length)


def test_embedded_weights_that_are_not_the_published_ones_are_refused(
    monkeypatch: pytest.MonkeyPatch, complaint: Complaint
) -> None:
    monkeypatch.setattr(checkpoint, "EMBEDDED_SHA256", "0" * 64)
    assert "not the published 000000000000..." in complaint(model="embedded")


def test_embedded_model_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch, complaint: Complaint) -> None:
    monkeypatch.setattr(checkpoint, "EMBEDDED_PACKAGE", "no_such_package")
    assert "no_such_package is not installed" in complaint(model="embedded")


def test_a_checkpoint_is_identified_by_the_bytes_of_its_weights(broken: Path, tiny_model: Path) -> None:
    same = find_checkpoint(str(broken))
    assert same.weights_sha256 == find_checkpoint(str(tiny_model)).weights_sha256
    with (broken / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x01")
    assert find_checkpoint(str(broken)).weights_sha256 != same.weights_sha256


def test_a_checkpoint_is_found_without_loading_it(broken: Path) -> None:
    (broken / "model.safetensors").write_bytes(b"these are no weights")
    found = find_checkpoint(str(broken))
    assert (found.name, found.revision, found.config["num_hidden_layers"]) == ("broken", "local", 2)


def test_a_problem_with_a_checkpoint_is_an_ingest_error(tmp_path: Path) -> None:
    with pytest.raises(IngestError):
        find_checkpoint(str(tmp_path))
