"""Keys with a large part in common lose nothing of it in float16: patterns stay near those of transformers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
import xarray as xr

import store
from ingest.encode.hooked_model import HookedModel
from ingest.encode.tensors import STEP, key_constant
from ingest.run.checkpoint import find_checkpoint
from store.repository import arrays
from store.repository.arrays import with_keys
from tests.stores import Ingest
from tests.tiny_models import save_model

SHARED = 100.0


@pytest.fixture(scope="module")
def shifted_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT whose keys have a large part in common."""
    folder = save_model(tmp_path_factory.mktemp("shifted") / "model")
    model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False)
    with torch.no_grad():
        for layer in model.encoder.layer:
            layer.attention.self.key.bias += SHARED
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def place(shifted_model: Path, ingest: Ingest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return ingest(tmp_path_factory.mktemp("shifted") / "store", model=shifted_model, sentences=6)


@pytest.fixture(scope="module")
def shifted(place: str) -> store.Corpus:
    return store.open_corpus(place)


def test_a_constant_of_all_keys_does_not_make_patterns_less_exact(
    shifted: store.Corpus, shifted_model: Path, eager: Callable[[Path], Any]
) -> None:
    ids = torch.from_numpy(shifted.tokens.token_id.values[shifted.sentence_rows(0)].astype(np.int64))[None]
    expected = torch.stack(eager(shifted_model)(ids, output_attentions=True).attentions)[:, 0].detach().numpy()
    assert np.abs(shifted.pattern(0) - expected).max() < 1e-3


def test_keys_are_those_of_the_model(shifted: store.Corpus, shifted_model: Path) -> None:
    bert = HookedModel(find_checkpoint(str(shifted_model)), device=torch.device("cpu"), dtype=torch.float32)
    rows = shifted.sentence_rows(2)
    ids = torch.from_numpy(shifted.tokens.token_id.values[rows].astype(np.int64))[None]
    expected = torch.stack([key[0] for key in bert.run(ids, None).key]).transpose(1, 2).numpy()
    assert expected.mean() > SHARED - 10
    np.testing.assert_allclose(shifted.key[:, :, rows], expected, atol=5e-3)


@pytest.mark.parametrize(
    "chosen",
    [
        {"layer": 1},
        {"layer": 1, "head": 0, "token": slice(2, 9)},
        {"head": [1, 0], "token": [3, 4, 8]},
        {"channel": 2, "token": slice(5, 2, -1)},
        {"layer": 0, "head": 1, "token": 3, "channel": 4},
    ],
)
def test_a_selection_of_keys_equals_that_part_of_all_keys(chosen: dict[str, Any], shifted: store.Corpus) -> None:
    xr.testing.assert_equal(shifted.key.isel(chosen), shifted.key.load().isel(chosen))


def test_ingest_and_corpus_read_the_same_keys(place: str, shifted: store.Corpus) -> None:
    group = store.open_snapshot(place).group(f"models/{shifted.name}")
    read = arrays.read_vectors(group, "key", 1, slice(3, 9))
    np.testing.assert_array_equal(read, shifted.key[1, :, 3:9])


@pytest.mark.parametrize("role", ["query", "key"])
def test_vectors_are_the_stored_ones_plus_their_constant(role: str, shifted: store.Corpus) -> None:
    stored, constant = shifted.stored_vectors(role, layer=1, head=0)
    assert stored.dtype == np.float16
    vectors = getattr(shifted, role)[1, 0].values[shifted.rows]
    np.testing.assert_array_equal(stored.values[shifted.rows].astype(np.float32) + constant, vectors)
    assert constant.any() == (role == "key")


def test_keys_of_a_store_without_a_constant_are_read_as_stored() -> None:
    stored = xr.Dataset({"key": (("layer", "head", "token", "channel"), np.ones((1, 1, 3, 2), np.float16))})
    assert with_keys(stored).identical(stored)


def test_the_constant_of_a_model_does_not_depend_on_the_corpus(shifted_model: Path) -> None:
    bert = HookedModel(find_checkpoint(str(shifted_model)), device=torch.device("cpu"), dtype=torch.float32)
    constant = key_constant(bert)
    assert constant.shape == (bert.layers, bert.heads, bert.channels)
    assert torch.equal(constant, key_constant(bert))
    assert torch.equal(constant / STEP, torch.round(constant / STEP))


def test_growing_keeps_the_constant(shifted_model: Path, ingest: Ingest, tmp_path: Path) -> None:
    place = ingest(tmp_path / "store", model=shifted_model, sentences=4)
    before = store.open_corpus(place).key.load()
    after = store.open_corpus(ingest(Path(place), sentences=8, model=shifted_model)).key
    xr.testing.assert_equal(
        after.isel(token=slice(before.sizes["token"])).reset_coords(drop=True), before.reset_coords(drop=True)
    )
