"""Whatever is wrong with a checkpoint, a person gets one sentence that says what to do next."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from ingest.encode.loading import load_model
from ingest.run.checkpoint import embedded_checkpoint, find_checkpoint
from ingest.run.errors import IngestError
from tests.broken_model import change_config
from tests.family_models import save_family
from tests.hub import COMMIT
from tests.hub_cache import ModelHub
from tests.tiny_models import save_model

Complaint = Callable[..., str]


@pytest.mark.parametrize("model", ["nobody", "nobody/nothing", "no such name!"])
def test_a_model_that_is_nowhere_is_refused(model: str, complaint: Complaint) -> None:
    assert "neither a local folder nor " in complaint(model=model)


def test_a_model_without_a_name_is_refused() -> None:
    with pytest.raises(
        IngestError, match=r"^The name of the model is empty\. Give a folder that save_pretrained wrote, or"
    ):
        find_checkpoint("")


def test_a_refusal_names_no_flag_as_not_every_caller_has_one() -> None:
    with pytest.raises(
        IngestError, match=r"Give a folder that save_pretrained wrote, or the name of a model"
    ) as refused:
        find_checkpoint("nobody/nothing")
    assert "--model" not in str(refused.value)


def test_a_model_that_is_not_a_bert_is_refused(broken: Path, complaint: Complaint) -> None:
    change_config(broken, model_type="gpt_neox")
    told = complaint(model=broken)
    assert (
        "is of no family that is read here: its config.json says model_type gpt_neox. Give a checkpoint of model_type bert, roberta, "
        in told
    )


def test_a_bert_that_may_not_look_ahead_is_refused(broken: Path, complaint: Complaint) -> None:
    """The attention of a decoder is not the softmax over the whole sentence that the store recomputes."""
    change_config(broken, is_decoder=True)
    assert "decoder" in complaint(model=broken)


@pytest.mark.parametrize("kind", ["relative_key", "relative_key_query"])
def test_a_bert_with_relative_positions_is_refused(kind: str, broken: Path) -> None:
    """transformers would leave the relative positions out, and every pattern would be another model's."""
    change_config(broken, position_embedding_type=kind)
    with pytest.raises(IngestError, match=r"broken has relative positions .* Give a BERT"):
        find_checkpoint(str(broken))


@pytest.mark.parametrize("kind", ["absolute", None])
def test_a_bert_that_says_its_positions_are_absolute_is_found(kind: str | None, broken: Path) -> None:
    change_config(broken, position_embedding_type=kind)
    assert find_checkpoint(str(broken)).name == "broken"


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
    """transformers would fill the layer with random numbers without a word."""
    save_file({"other": torch.zeros(3)}, broken / "model.safetensors", metadata={"format": "pt"})
    assert "cannot be loaded as a BERT" in complaint(model=broken)


@pytest.mark.parametrize("architecture", ["BertModel", "BertForPreTraining"])
@pytest.mark.parametrize("weight", ["attention.self.distance_embedding.weight", "output.adapter.bias"])
def test_weights_of_layers_that_transformers_would_leave_out_are_refused(
    architecture: str, weight: str, tmp_path: Path
) -> None:
    model = save_model(tmp_path / "more", architecture=architecture)
    prefix = "" if architecture == "BertModel" else "bert."
    add_weights(model, {f"{prefix}encoder.layer.1.{weight}": torch.zeros(3)})
    with pytest.raises(IngestError, match=f"encoder.layer.1.{weight}"):
        load_model(find_checkpoint(str(model)), "BertModel", add_pooling_layer=False)


def test_heads_of_training_a_pooler_and_numbers_of_positions_may_be_left_out(tmp_path: Path) -> None:
    """Published BERTs have these weights."""
    model = save_model(tmp_path / "pretrained", architecture="BertForPreTraining")
    add_weights(model, {"bert.embeddings.position_ids": torch.arange(128)[None]})
    loaded = load_model(find_checkpoint(str(model)), "BertModel", add_pooling_layer=False)
    weights = load_file(model / "model.safetensors")
    assert all(torch.equal(weight, weights[f"bert.{name}"]) for name, weight in loaded.state_dict().items())


def add_weights(model: Path, more: dict[str, torch.Tensor]) -> None:
    path = model / "model.safetensors"
    save_file(load_file(path) | more, path, metadata={"format": "pt"})


@pytest.mark.parametrize("length", [129, 9000])
def test_sentences_longer_than_the_model_can_read_are_refused(
    length: int, tmp_path: Path, complaint: Complaint
) -> None:
    (tmp_path / "long.txt").write_text("film " * 10_000)
    assert "128" in complaint(data=tmp_path / "long.txt", max_length=length)


def test_embedded_weights_that_are_not_the_published_ones_are_refused() -> None:
    with pytest.raises(IngestError, match=r"not the published 000000000000\.\.\."):
        embedded_checkpoint(sha256_of_weights="0" * 64)


def test_embedded_model_that_is_not_installed_is_refused() -> None:
    with pytest.raises(IngestError, match="no_such_package is not installed"):
        embedded_checkpoint("no_such_package")


def test_a_checkpoint_is_identified_by_the_bytes_of_its_weights(broken: Path, tiny_model: Path) -> None:
    same = find_checkpoint(str(broken))
    assert same.weights_sha256 == find_checkpoint(str(tiny_model)).weights_sha256
    with (broken / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x01")
    assert find_checkpoint(str(broken)).weights_sha256 != same.weights_sha256


def test_a_checkpoint_is_found_without_loading_it(broken: Path) -> None:
    (broken / "model.safetensors").write_bytes(b"these are no weights")
    bert = find_checkpoint(str(broken))
    assert (bert.name, bert.revision, bert.config["num_hidden_layers"]) == ("broken", "local", 2)


def test_a_problem_with_a_checkpoint_is_an_ingest_error(tmp_path: Path) -> None:
    with pytest.raises(IngestError):
        find_checkpoint(str(tmp_path))


# -- from the hub ---------------------------------------------------------------------------------------


@pytest.fixture
def hub(model_hub: ModelHub) -> Path:
    """The folder of the only model of the hub."""
    return model_hub.model


def test_a_model_of_the_hub_may_have_its_weights_in_a_bin_alone(tiny_model: Path, hub: Path) -> None:
    shutil.copytree(tiny_model, hub)
    torch.save(load_file(hub / "model.safetensors"), hub / "pytorch_model.bin")
    (hub / "model.safetensors").unlink()
    model = load_model(find_checkpoint("somebody/old"), "BertModel", add_pooling_layer=False)
    weights = load_file(tiny_model / "model.safetensors")
    assert all(torch.equal(weight, weights[name]) for name, weight in model.state_dict().items())


def test_of_a_model_of_the_hub_with_both_no_bin_is_downloaded(tiny_model: Path, hub: Path) -> None:
    shutil.copytree(tiny_model, hub)
    torch.save({}, hub / "pytorch_model.bin")
    assert not (find_checkpoint("somebody/new").folder / "pytorch_model.bin").exists()


def test_a_vocabulary_of_sentencepiece_is_downloaded_with_its_model(hub: Path) -> None:
    save_family(hub, "albert")
    (hub / "spiece.model").write_bytes(b"wordpieces")
    assert (find_checkpoint("somebody/albert").folder / "spiece.model").read_bytes() == b"wordpieces"


def test_a_model_of_the_hub_without_weights_is_refused(tiny_model: Path, hub: Path) -> None:
    shutil.copytree(tiny_model, hub)
    (hub / "model.safetensors").unlink()
    with pytest.raises(IngestError, match=r"somebody/none has no weights .* Give a folder that save_pretrained wrote"):
        find_checkpoint("somebody/none")


@pytest.fixture
def cached(tiny_model: Path, model_hub: ModelHub) -> Path:
    """The folder of the only model in the cache; the hub is out of reach."""
    model_hub.is_reached = False
    return Path(shutil.copytree(tiny_model, model_hub.cache / COMMIT))


def test_a_model_in_the_cache_is_not_asked_of_the_hub(cached: Path) -> None:
    checkpoint = find_checkpoint("somebody/known")
    assert (checkpoint.name, checkpoint.folder) == ("somebody/known", cached)


def test_a_named_revision_of_a_model_is_asked_of_the_hub(cached: Path) -> None:
    assert cached.is_dir()
    with pytest.raises(IngestError, match="neither a local folder nor "):
        find_checkpoint("somebody/known@main")


def test_a_model_without_weights_in_the_cache_is_asked_of_the_hub(cached: Path) -> None:
    (cached / "model.safetensors").unlink()
    with pytest.raises(IngestError, match="neither a local folder nor "):
        find_checkpoint("somebody/known")
