"""Linear layers whose weight lies in memory as oneDNN multiplies it, for a CPU in float32.

torch multiplies by MKL, which packs the weight again in every product, and on processors that are not Intel's uses half of their
width: there this takes less than half the time. Where torch has no oneDNN, layers stay as they are.
"""

import torch
from torch import Tensor, nn

#: Rows of the products for which the order of a weight is chosen. With another number it is less than the best.
ROWS = 512


class PackedLinear(nn.Module):
    """A linear layer that holds its weight packed only."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self._packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), ROWS)
        self.bias = linear.bias

    @property
    def weight(self) -> Tensor:
        """The weight as a linear layer has it, (output, input), copied."""
        return self._packed.to_dense()

    def forward(self, vectors: Tensor) -> Tensor:
        """As `nn.Linear` but for rounding. For no gradient."""
        return self._product(vectors, self.bias)

    def product(self, vectors: Tensor) -> Tensor:
        """The same without the bias."""
        return self._product(vectors, None)

    def _product(self, vectors: Tensor, bias: Tensor | None) -> Tensor:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(vectors, self._packed, bias, "none", [], "")
        return product


def can_pack(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether layers on the device can be packed that multiply in this dtype."""
    built = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    measured = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
    return built and measured and device.type == "cpu" and dtype == torch.float32


def pack_linears(module: nn.Module) -> None:
    """Pack every linear layer within a module."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, PackedLinear(child))
        else:
            pack_linears(child)


def batch_product(left: Tensor, right: Tensor) -> Tensor:
    """Products of matrices (batch, row, inner) and (batch, inner, column) in float32 on a CPU, each in one piece of memory.

    By oneDNN where it is only one: it is large, then, and takes half the time.
    """
    if len(left) > 1 or not can_pack(left.device, left.dtype):
        return torch.bmm(left, right)
    product: Tensor = torch.ops.mkldnn._linear_pointwise(left[0], right[0].T, None, "none", [], "")
    return product[None]
