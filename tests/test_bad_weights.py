"""Weights that are no numbers or no weights: refused by name, never run, or ingested in silence."""

import io
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

import store
from ingest.encode.encoder import _check_finite
from ingest.encode.loading import load_model, weight_shapes
from ingest.projections.fits import fit_points
from ingest.run.checkpoint import find_checkpoint
from ingest.run.errors import IngestError
from tests.broken_model import change_weights, works_or_is_refused

Complaint = Callable[..., str]
Ingest = Callable[..., str]


# -- numbers that are none ------------------------------------------------------------------------------

QUERY = "encoder.layer.1.attention.self.query.weight"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1e30])
def test_a_weight_that_is_no_number_is_refused_by_name(number: float, broken: Path) -> None:
    change_weights(broken, lambda weights: weights[QUERY].view(-1)[3:4].fill_(number))
    with pytest.raises(IngestError, match=rf"{QUERY} has numbers such as .*\. Save "):
        load_model(find_checkpoint(str(broken)), "BertModel", add_pooling_layer=False)


def test_queries_beyond_float16_are_refused_by_layer(broken: Path, complaint: Complaint) -> None:
    change_weights(broken, lambda weights: weights[QUERY].fill_(6e4))
    assert "A query of layer 1 is beyond the range of float16" in complaint(model=broken)


def test_a_value_norm_beyond_float16_is_refused_by_layer() -> None:
    """The norm is that of the second token of a block; padding follows the tokens."""
    norms = np.full((2, 3, 4), np.nan, np.float16)
    norms[..., :2] = 1
    _check_finite({"value_norm": norms}, 2)
    norms[1, 2, 1] = np.inf
    with pytest.raises(IngestError, match=r"^A value norm of layer 1 is beyond the range of float16"):
        _check_finite({"value_norm": norms}, 2)


def test_weights_that_are_all_zero_are_ingested_without_a_warning(broken: Path, ingest: Ingest, tmp_path: Path) -> None:
    """Warnings are errors here: heads that all attend alike have no distances, equal points no variance."""
    change_weights(broken, lambda weights: [weight.zero_() for weight in weights.values()])
    place = ingest(tmp_path / "store", model=broken, sentences=5, features="pca-joint", reviews="none")
    assert float(store.open_corpus(place).divergence.divergence.max()) == 0


@pytest.mark.parametrize("kind", ["tsne", "umap"])
def test_points_that_are_all_one_are_placed_at_one_place(kind: str) -> None:
    """scikit-learn's t-SNE crashes the process."""
    assert not fit_points(np.ones((40, 3), np.float32), kind, 2, 0, {}).any()


# -- files that are not what they say -------------------------------------------------------------------


class Hostile:
    """An object that makes a file when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("save", [torch.save, lambda content, path: path.write_bytes(pickle.dumps(content))])
def test_code_in_a_pickle_is_refused_and_never_run(save: Callable[[Any, Path], object], broken: Path) -> None:
    (broken / "model.safetensors").unlink()
    save({"embeddings": Hostile(broken / "trace")}, broken / "pytorch_model.bin")
    with pytest.raises(
        IngestError, match=r"pytorch_model.bin of broken .* nothing of it was run\. Save the model again"
    ):
        load_model(find_checkpoint(str(broken)), "BertModel", add_pooling_layer=False)
    assert not (broken / "trace").exists()


@pytest.mark.parametrize(
    ("change", "other"),
    [
        (lambda weights: weights | {5: torch.ones(1)}, "Tensor under 5"),
        (lambda weights: {"state_dict": weights}, "dict under 'state_dict'"),
        (lambda weights: [*weights.values()], "list"),
    ],
)
def test_a_pickle_of_other_things_than_weights_by_their_names_is_refused(
    change: Callable[[dict[str, torch.Tensor]], object], other: str, broken: Path, complaint: Complaint
) -> None:
    weights = load_file(broken / "model.safetensors")
    (broken / "model.safetensors").unlink()
    torch.save(change(weights), broken / "pytorch_model.bin")
    told = complaint(model=broken)
    assert told.startswith("pytorch_model.bin of broken does not hold weights by their names alone, as torch.save")
    assert f"({other}). Save the model again" in told


@pytest.mark.parametrize(
    ("file", "about"),
    [
        ("config.json", "broken/config.json"),
        ("tokenizer.json", "broken/tokenizer.json"),
        ("model.safetensors", "model.safetensors of broken"),
    ],
)
def test_a_pointer_of_git_lfs_in_place_of_a_file_is_named(
    file: str, about: str, broken: Path, complaint: Complaint
) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 90868376\n"
    (broken / file).write_text(pointer)
    assert f"{about} is a pointer of Git LFS, not the data. Run `git lfs pull`" in complaint(model=broken)


@pytest.mark.parametrize("name", ["model.fp16.safetensors", "pytorch_model.fp16.bin"])
def test_weights_under_a_name_that_is_not_read_are_named(name: str, broken: Path, complaint: Complaint) -> None:
    (broken / "model.safetensors").rename(broken / name)
    expected = f"broken has no model.safetensors or pytorch_model.bin, the names that weights are read by, but {name}. Name the"
    assert expected in complaint(model=broken)


def test_parts_of_weights_are_read_by_their_index_alone(broken: Path, complaint: Complaint) -> None:
    model = load_model(find_checkpoint(str(broken)), "BertModel", add_pooling_layer=False)
    (broken / "model.safetensors").unlink()
    model.save_pretrained(broken, max_shard_size="20KB")
    load_model(find_checkpoint(str(broken)), "BertModel", add_pooling_layer=False)
    (broken / "model.safetensors.index.json").unlink()
    told = complaint(model=broken)
    assert "broken has its weights in parts (model-00001-of-0000" in told
    assert "without model.safetensors.index.json, which says what is in which. Save that file" in told


@pytest.mark.parametrize("form", ["safetensors", "bin"])
def test_a_part_of_the_weights_that_is_not_there_is_named(form: str, broken: Path) -> None:
    weights, stem = load_file(broken / "model.safetensors"), "model" if form == "safetensors" else "pytorch_model"
    (broken / "model.safetensors").unlink()
    first, second = (f"{stem}-0000{number}-of-00002.{form}" for number in (1, 2))
    save_file(weights, broken / first) if form == "safetensors" else torch.save(weights, broken / first)
    parts = {name: second if name == QUERY else first for name in weights}
    index = f"{stem}.{form}.index.json"
    (broken / index).write_text(json.dumps({"weight_map": parts}))
    with pytest.raises(
        IngestError, match=rf"broken has its weights in parts, and lacks {second}, which {index} names\. Save "
    ):
        load_model(find_checkpoint(str(broken)), "BertModel", add_pooling_layer=False)


@pytest.mark.parametrize("content", ["{}", '{"weight_map": [1]}', "{"])
def test_an_index_that_says_nothing_of_parts_is_refused(content: str, broken: Path) -> None:
    (broken / "model.safetensors").rename(broken / "model-00001-of-00001.safetensors")
    (broken / "model.safetensors.index.json").write_text(content)
    with pytest.raises(
        IngestError, match=r"model\.safetensors\.index\.json.* (has no weight_map|is not readable).* Save "
    ):
        weight_shapes(find_checkpoint(str(broken)))


@given(content=st.binary(max_size=60), place=st.integers(0, 400), end=st.integers(0, 400))
@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_any_bytes_of_weights_are_read_or_refused(
    name: str, content: bytes, place: int, end: int, tiny_model: Path, folder: Path
) -> None:
    weights = io.BytesIO()
    torch.save({QUERY: torch.zeros(2, 2)}, weights)
    whole = (tiny_model / name).read_bytes() if name == "model.safetensors" else weights.getvalue()
    for other in folder.glob("*model*"):
        other.unlink()
    (folder / name).write_bytes(whole[:place] + content + whole[end:])
    checkpoint = find_checkpoint(str(tiny_model))
    works_or_is_refused(lambda: weight_shapes(replace(checkpoint, place=folder)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")
