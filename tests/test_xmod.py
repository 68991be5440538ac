"""X-MOD: the norms around its adapters, its feature points, and what is refused."""

from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from ingest.encode.decomposition import trace
from ingest.encode.hooked_model import HookedModel
from ingest.run.checkpoint import find_checkpoint
from ingest.run.errors import IngestError
from tests.broken_model import change_config
from tests.family_models import save_family

IDS = torch.tensor([[2, 30, 31, 22, 21, 25, 3]])


def hooked(folder: Path) -> HookedModel:
    return HookedModel(find_checkpoint(str(folder)), device=torch.device("cpu"), dtype=torch.float32)


@pytest.mark.parametrize(
    ("fields", "norms"),
    [
        ({}, 3),
        ({"adapter_layer_norm": True}, 3),
        ({"adapter_reuse_layer_norm": False}, 2),
        ({"ln_before_adapter": False}, 2),
    ],
    ids=str,
)
def test_where_networks_and_adapters_add_nothing_a_layer_is_its_residual_norms(
    fields: Mapping[str, Any], norms: int, tmp_path: Path
) -> None:
    model = hooked(save_family(tmp_path / "model", "xmod", sizes=fields))
    layer = model.parts.layers[0]
    with torch.no_grad():
        for silent in (layer.module.output.dense, layer.module.output.adapter_modules["en_XX"].dense2):
            silent.weight.zero_()
            silent.bias.zero_()
    summed: list[torch.Tensor] = []
    layer.module.attention.output.register_forward_hook(lambda _module, _given, made: summed.append(made.clone()))
    model.listen_at_points(["L00.feedforward"])
    found = model.run(IDS, None).points["L00.feedforward"]
    assert len(layer.residual_norms) == norms
    with torch.inference_mode():
        expected = reduce(lambda vectors, norm: norm(vectors), layer.residual_norms, summed[0])
    torch.testing.assert_close(found, expected)


def test_the_point_after_attention_is_what_the_feed_forward_network_reads(tmp_path: Path) -> None:
    folder = save_family(tmp_path / "model", "xmod")
    model = hooked(folder)
    model.listen_at_points(["L01.attended"])
    own = transformers.XmodModel.from_pretrained(folder, add_pooling_layer=False).eval()
    read: list[torch.Tensor] = []
    own.encoder.layer[1].intermediate.register_forward_hook(lambda _module, given, _made: read.append(given[0]))
    with torch.no_grad():
        own(IDS)
    torch.testing.assert_close(model.run(IDS, None).points["L01.attended"], read[0], atol=1e-5, rtol=0)


def test_the_named_language_is_read(tmp_path: Path) -> None:
    folder = save_family(tmp_path / "model", "xmod")
    change_config(folder, default_language="de_DE")
    model = hooked(folder)
    model.listen_at_points(["L02.feedforward"])
    own = transformers.XmodModel.from_pretrained(folder, add_pooling_layer=False).eval()
    with torch.no_grad():
        german, english = (own(IDS, lang_ids=torch.tensor([number])).last_hidden_state for number in (0, 1))
    found = model.run(IDS, None).points["L02.feedforward"]
    torch.testing.assert_close(found, german, atol=1e-5, rtol=0)
    assert (german - english).abs().max() > 0.1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"default_language": None},
            "default_language = None. It must be one of languages, as XmodModel.set_default_language sets it",
        ),
        ({"default_language": "fr_XX"}, "default_language = 'fr_XX'. It must be one of languages"),
        ({"languages": []}, "default_language = 'en_XX'. It must be one of languages"),
        ({"languages": None}, "languages = None. It must be a list of names"),
        ({"pre_norm": True}, "pre_norm = True. It must be false: norms before attention are not read. Choose a model"),
    ],
    ids=str,
)
def test_a_model_of_no_language_and_norms_before_attention_are_refused(
    change: Mapping[str, Any], told: str, tmp_path: Path
) -> None:
    folder = save_family(tmp_path / "model", "xmod")
    change_config(folder, **change)
    with pytest.raises(IngestError) as refused:
        find_checkpoint(str(folder))
    assert told in str(refused.value)


def test_it_is_not_decomposed_as_a_bert_is(tmp_path: Path) -> None:
    model = hooked(save_family(tmp_path / "model", "xmod"))
    with pytest.raises(IngestError, match=r"X-MOD cannot be decomposed: its layers are not those of a BERT"):
        trace(model, IDS[0])
