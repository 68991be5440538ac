"""Both ways of an encoder, counting patterns in the forward pass and by formulas after it, give the same numbers."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from ingest.encode.encoder import BlockBuffers, Encoder, Shape
from ingest.encode.hooked_model import HookedModel
from ingest.run.checkpoint import find_checkpoint
from ingest.text.blocks import Block, plan
from store.schema.corpus import CLS, PUNCTUATION, SEP
from store.schema.model import MODEL_ARRAYS, SQUARE_ARRAYS, STATISTICS
from tests.family_models import save_family

CPU = torch.device("cpu")
LENGTHS = [3, 16, 9, 9, 2, 12]
#: Relative and absolute tolerance of a number, by dtype.
TOLERANCE = {torch.float32: (2e-3, 2e-5), torch.bfloat16: (0.1, 0.05)}

MakeEncoder = Callable[..., Encoder]


@pytest.fixture(scope="module")
def block() -> Block:
    """Sentences of random wordpieces."""
    random = np.random.default_rng(0)
    tokens = sum(LENGTHS)
    ids, flags = random.integers(5, 50, tokens).astype(np.int32), random.choice([0, PUNCTUATION], tokens)
    stops = np.cumsum(LENGTHS)
    flags[stops - LENGTHS], flags[stops - 1] = CLS, SEP
    return plan(np.array(LENGTHS, np.int32), ids, flags.astype(np.uint8), length=64)[0]


@pytest.fixture(scope="module")
def encoder(any_family: Path) -> MakeEncoder:
    checkpoint = find_checkpoint(str(any_family))

    def encoder(*, counts: bool, dtype: torch.dtype = torch.float32, packed: bool = True) -> Encoder:
        bert = HookedModel(checkpoint, device=CPU, dtype=dtype, packed=packed)
        return Encoder(bert, batch_tokens=32, counts=counts)

    return encoder


@pytest.mark.parametrize("model_type", ["modernbert", "mpnet", "deberta-v2", "eurobert"])
def test_families_that_add_to_logits_or_centre_nothing_give_the_same_numbers(
    model_type: str, block: Block, tmp_path: Path
) -> None:
    checkpoint = find_checkpoint(str(save_family(tmp_path / "model", model_type)))
    formulas, counted = (
        encoded(Encoder(HookedModel(checkpoint, device=CPU, dtype=torch.float32), batch_tokens=32, counts=way), block)
        for way in (False, True)
    )
    for name, expected in formulas.items():
        np.testing.assert_allclose(counted[name], expected, rtol=2e-3, atol=2e-5, err_msg=name)


def encoded(encoder: Encoder, block: Block) -> dict[str, np.ndarray]:
    """Every array of the block in float64, without the statistics that rounding can tip over a threshold."""
    bert = encoder.model
    shape = Shape(bert.layers, bert.heads, bert.channels, block.length, max(LENGTHS))
    constant = torch.ones(bert.layers, bert.heads, bert.channels)
    buffers = BlockBuffers(shape, CPU, constant, squares=True)
    encoder.encode(block, buffers)
    arrays = {name: tensor.numpy() for name, tensor in buffers.per_block.items()} | buffers.arrays()
    return {name: _without_thresholds(name, array.astype(np.float64)) for name, array in arrays.items()}


def _without_thresholds(name: str, array: np.ndarray) -> np.ndarray:
    dims = {**MODEL_ARRAYS, **SQUARE_ARRAYS}[name].dims
    axis = [dim for dim in dims if dim != "task"].index("statistic") if "statistic" in dims else None
    tipped = [place for place, statistic in enumerate(STATISTICS) if statistic in ("attended_keys", "to_sink")]
    return array if axis is None else np.delete(array, tipped, axis)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("packed", [False, True])
def test_both_ways_give_the_same_numbers(packed: bool, dtype: torch.dtype, encoder: MakeEncoder, block: Block) -> None:
    formulas = encoded(encoder(counts=False, dtype=dtype, packed=False), block)
    counted = encoded(encoder(counts=True, dtype=dtype, packed=packed), block)
    relative, absolute = TOLERANCE[dtype]
    assert counted.keys() == formulas.keys()
    for name, expected in formulas.items():
        np.testing.assert_allclose(counted[name], expected, rtol=relative, atol=absolute, err_msg=name)


def test_an_encoder_that_counts_still_runs_plain_passes(encoder: MakeEncoder) -> None:
    tokens = torch.tensor([[2, 40, 41, 3, 0], [2, 40, 41, 42, 3]])
    passes = [encoder(counts=counts).model.run(tokens, tokens != 0) for counts in (False, True)]
    for plain, after in zip(*(capture.query for capture in passes), strict=True):
        assert torch.equal(plain, after)
