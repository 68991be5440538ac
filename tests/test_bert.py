"""The hooks catch the vectors that transformers' own modules work with."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ingest.encode.capture import Capture
from ingest.encode.hooked_model import HookedModel
from ingest.encode.loading import find_device, find_dtype
from ingest.finetuning.training import find_precision
from ingest.run.checkpoint import find_checkpoint
from ingest.run.errors import IngestError
from store.kernels.attention import attention_pattern
from tests.definitions import LayerOfSentence, mixing

CPU = torch.device("cpu")
TOKENS = torch.tensor([[2, 40, 41, 42, 43, 44, 3], [2, 50, 51, 3, 0, 0, 0]])
REAL = TOKENS != 0


@pytest.fixture(scope="module", params=[False, True], ids=["torch", "packed"])
def bert(any_family: Path, request: pytest.FixtureRequest) -> HookedModel:
    return HookedModel(find_checkpoint(str(any_family)), device=CPU, dtype=torch.float32, packed=request.param)


@pytest.fixture(scope="module")
def reference(any_family: Path, eager: Callable[[Path], Any]) -> Any:
    return eager(any_family)


@pytest.fixture(scope="module")
def hidden(reference: Any) -> list[Tensor]:
    """Input of every layer, from transformers itself in float64."""
    with torch.inference_mode():
        return list(reference(TOKENS, REAL.long(), output_hidden_states=True).hidden_states)


@pytest.fixture(scope="module")
def capture(bert: HookedModel) -> Capture:
    return bert.run(TOKENS, REAL)


def test_layers_heads_and_channels_are_those_of_the_config(bert: HookedModel, reference: Any) -> None:
    config = reference.config
    assert (bert.layers, bert.heads) == (config.num_hidden_layers, config.num_attention_heads)
    assert bert.channels == config.hidden_size // config.num_attention_heads


def test_layer_inputs_are_the_hidden_states(capture: Capture, hidden: list[Tensor]) -> None:
    assert len(capture.layer_input) == len(hidden) - 1
    for caught, expected in zip(capture.layer_input, hidden, strict=False):
        np.testing.assert_allclose(caught[REAL], expected[REAL], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_vectors_are_the_layer_input_times_the_weights(
    name: str, capture: Capture, hidden: list[Tensor], reference: Any
) -> None:
    weights = reference.state_dict()
    for layer, caught in enumerate(getattr(capture, name)):
        weight, bias = (weights[f"encoder.layer.{layer}.attention.self.{name}.{part}"] for part in ("weight", "bias"))
        expected = hidden[layer] @ weight.T + bias
        np.testing.assert_allclose(caught.flatten(-2)[REAL], expected[REAL], rtol=1e-4, atol=1e-4)


def test_padding_changes_nothing_for_real_tokens(bert: HookedModel, capture: Capture) -> None:
    alone = bert.run(TOKENS[1:, :4], None)
    for name in ("query", "key", "value", "layer_input"):
        for padded, short in zip(getattr(capture, name), getattr(alone, name), strict=True):
            np.testing.assert_allclose(padded[1, :4], short[0], rtol=1e-4, atol=1e-5)


def test_output_grams_are_products_of_the_heads_slices(bert: HookedModel, reference: Any) -> None:
    for layer, grams in enumerate(bert.output_grams()):
        weight = reference.encoder.layer[layer].attention.output.dense.weight.detach().numpy()
        for head in range(bert.heads):
            part = weight[:, head * bert.channels : (head + 1) * bert.channels]
            np.testing.assert_allclose(grams[head], part.T @ part, rtol=1e-4, atol=1e-5)


def test_passes_in_two_threads_do_not_mix(bert: HookedModel) -> None:
    inputs = [TOKENS[:1], TOKENS[1:, :4]] * 8
    expected = [bert.run(tokens, None).query[-1] for tokens in inputs]
    with ThreadPoolExecutor(2) as pool:
        captures = list(pool.map(lambda tokens: bert.run(tokens, None), inputs))
    for capture, query in zip(captures, expected, strict=True):
        assert len(capture.query) == bert.layers
        np.testing.assert_allclose(capture.query[-1], query, rtol=1e-5, atol=1e-5)


def test_lower_precision_gives_nearly_the_same_queries(any_family: Path, capture: Capture) -> None:
    low = HookedModel(find_checkpoint(str(any_family)), device=CPU, dtype=torch.bfloat16).run(TOKENS, REAL)
    for caught, exact in zip(low.query, capture.query, strict=True):
        assert caught.dtype == torch.bfloat16
        assert (caught.float() - exact)[REAL].norm() < 0.05 * exact[REAL].norm()


def test_auto_takes_a_device_that_is_there_and_the_dtype_that_suits_it() -> None:
    assert find_device("auto").type in ("cuda", "mps", "cpu")
    assert find_dtype("auto", CPU) == torch.float32


@pytest.mark.parametrize(
    ("able", "dtype", "precision"), [(True, torch.bfloat16, "bf16"), (False, torch.float16, "fp16")]
)
def test_a_gpu_computes_in_the_sixteen_bits_it_multiplies_in(
    able: bool, dtype: torch.dtype, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older GPUs emulate bfloat16: torch's question excludes emulation to tell them."""
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: able or including_emulation)
    cuda = torch.device("cuda")
    assert (find_dtype("auto", cuda), find_precision(cuda)) == (dtype, precision)


@pytest.mark.parametrize("name", ["tpu", "cuda:99", ""])
def test_a_device_that_is_not_there_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(IngestError, match=r"Give --device=.*cpu.* or auto\.$"):
        find_device(name)


def test_an_unknown_dtype_is_refused_with_the_known_ones() -> None:
    with pytest.raises(IngestError, match=r"Give one of auto, float32, bfloat16, float16\.$"):
        find_dtype("int8", CPU)


def test_mixing_ratios_of_a_pass_in_low_precision_are_exact_for_what_it_caught(
    any_family: Path, reference: Any
) -> None:
    low = HookedModel(find_checkpoint(str(any_family)), device=CPU, dtype=torch.bfloat16)
    capture = low.run(TOKENS[:1], None)
    for number, layer in enumerate(reference.encoder.layer):
        query, key, value = (caught[number].float() for caught in (capture.query, capture.key, capture.value))
        layer_input = capture.layer_input[number].float()
        pattern = attention_pattern(query.transpose(1, 2), key.transpose(1, 2))
        ratios = low.output_projections()[number].mixing(pattern, value, layer_input)[:, 0]
        by_head = layer.attention.output.dense.weight.detach().T.unflatten(0, (low.heads, low.channels))
        handed_on = torch.einsum("thc,hcf->htf", value[0].double(), by_head.double())
        exact = LayerOfSentence(pattern[0].double().numpy(), handed_on.numpy(), layer_input[0].numpy(), layer.attention)
        np.testing.assert_allclose(ratios, list(mixing(exact).values()), rtol=1e-4)
