"""Packed layers multiply as torch's own do. The operations are not documented: where the first test fails, adapt PackedLinear of counted_attention.py."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ingest.encode.counted_attention import PackedLinear, can_pack, pack_linears

CPU = torch.device("cpu")
with_onednn = pytest.mark.skipif(not can_pack(CPU, torch.float32), reason="torch has no oneDNN here")


@pytest.fixture
def linear() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(96, 160)


@pytest.fixture
def vectors() -> Tensor:
    return torch.randn(4, 130, 96, generator=torch.Generator().manual_seed(1))


def test_torch_still_has_the_operations_that_pack() -> None:
    if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        assert all(hasattr(torch.ops.mkldnn, name) for name in ("_linear_pointwise", "_reorder_linear_weight"))


def test_only_float32_on_a_cpu_is_packed() -> None:
    assert not can_pack(CPU, torch.bfloat16)
    assert not can_pack(torch.device("cuda"), torch.float32)


@with_onednn
def test_a_packed_layer_gives_what_the_layer_does(linear: nn.Linear, vectors: Tensor) -> None:
    with torch.inference_mode():
        expected, packed = linear(vectors), PackedLinear(linear)(vectors)
    np.testing.assert_allclose(packed, expected, rtol=1e-5, atol=1e-5)


@with_onednn
def test_a_packed_layer_gives_its_weight_back(linear: nn.Linear) -> None:
    assert torch.equal(PackedLinear(linear).weight, linear.weight)


@with_onednn
@pytest.mark.parametrize("choose", [lambda rows: rows[:, :17], lambda rows: rows[2:3]])
def test_a_row_is_the_same_bit_for_bit_beside_any_others(
    choose: Callable[[Tensor], Tensor], linear: nn.Linear, vectors: Tensor
) -> None:
    packed = PackedLinear(linear)
    with torch.inference_mode():
        assert torch.equal(packed(choose(vectors)), choose(packed(vectors)))


@with_onednn
def test_every_linear_layer_within_a_module_is_packed(linear: nn.Linear, vectors: Tensor) -> None:
    module = nn.Sequential(nn.Sequential(linear, nn.GELU()), nn.Linear(160, 8))
    with torch.inference_mode():
        expected = module(vectors)
        pack_linears(module)
        np.testing.assert_allclose(module(vectors), expected, rtol=1e-5, atol=1e-5)
    assert not any(isinstance(part, nn.Linear) for part in module.modules())
