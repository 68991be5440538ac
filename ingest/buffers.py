"""Room for one block's results on the device, and its way to the host while the next block is computed."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from store.schema import SOURCES, STATISTICS


@dataclass(frozen=True)
class Shape:
    """Sizes of a block's results."""

    layers: int
    heads: int
    channels: int
    rows: int


class BlockBuffers:
    """Results of a block: per token in float16 by row of the block, sums over its sentences in float64."""

    def __init__(self, shape: Shape, device: torch.device) -> None:
        layers, heads, rows = shape.layers, shape.heads, shape.rows
        self.per_token = {
            "query": torch.empty((layers, heads, rows, shape.channels), dtype=torch.float16, device=device),
            "key": torch.empty((layers, heads, rows, shape.channels), dtype=torch.float16, device=device),
            "value_norm": torch.empty((layers, heads, rows), dtype=torch.float16, device=device),
            "token_statistic": torch.empty((len(STATISTICS), layers, heads, rows), dtype=torch.float16, device=device),
        }
        # Apple's GPUs have no float64: there the sums are kept on the host.
        self._exact_device = torch.device("cpu") if device.type == "mps" else device
        self.block_sum = torch.zeros(
            (len(SOURCES), len(STATISTICS), layers, heads), dtype=torch.float64, device=self._exact_device
        )
        self.block_count = torch.zeros(len(SOURCES), dtype=torch.int64, device=self._exact_device)
        self._host = _pinned_like(self.per_token) if device.type == "cuda" else self.per_token
        self._copied: torch.cuda.Event | None = None

    def clear(self, tokens: int) -> None:
        """Ready for a block of so many tokens: padding is NaN, sums are 0."""
        for name, tensor in self.per_token.items():
            padding = tensor[:, :, tokens:] if name in ("query", "key") else tensor[..., tokens:]
            padding.fill_(float("nan"))
        self.block_sum.zero_()
        self.block_count.zero_()

    def put(self, name: str, layer: int, rows: Tensor, values: Tensor) -> None:
        """Keep a layer's values at rows of the block; `values` ends in the array's dims after the layer."""
        into = self.per_token[name]
        into = into[:, layer] if name == "token_statistic" else into[layer]
        into.index_copy_(2 if name == "token_statistic" else 1, rows, values.to(into.dtype))

    def add(self, sums: Tensor, counts: Tensor) -> None:
        """Add a batch's sums over sentences (source, statistic, layer, head) and its sentences by source (source)."""
        self.block_sum += sums
        self.block_count += counts.to(self._exact_device)

    def exact(self, tensor: Tensor) -> Tensor:
        """The same numbers where and how sums are exact: in float64."""
        return tensor.to(self._exact_device).double()

    def send(self) -> None:
        """Start the copy to the host; on a GPU it runs behind the computing that follows."""
        if self._host is self.per_token:
            return
        for name, tensor in self.per_token.items():
            self._host[name].copy_(tensor, non_blocking=True)
        self._copied = torch.cuda.Event()
        self._copied.record()

    def arrays(self) -> dict[str, NDArray[np.floating]]:
        """The block's arrays on the host, once they have arrived."""
        if self._copied is not None:
            self._copied.synchronize()
        return {name: tensor.cpu().numpy() for name, tensor in self._host.items()}


def _pinned_like(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True) for name, tensor in tensors.items()}
