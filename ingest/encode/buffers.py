"""Buffers for the results of one block on the device, copied to the host while the next block is computed."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from store.schema.model import MODEL_ARRAYS, OFFSETS, RATIOS, SOURCES, SQUARE_ARRAYS, STATISTICS

#: Arrays of the schema that are sums over sentences, by name, without the dim task.
Sums = Mapping[str, Tensor]

PER_TOKEN = ("query", "key", "value_norm", "token_statistic", "token_mixing")
PER_BLOCK = ("block_sum", "block_count", "block_profile", "block_received_at", "block_tokens_at", "block_mixing_sum")
#: Sums that only a model has which does not store the vectors of all sentences.
SQUARES = tuple(SQUARE_ARRAYS)

_ARRAYS = {**MODEL_ARRAYS, **SQUARE_ARRAYS}


@dataclass(frozen=True)
class Shape:
    """Sizes of a block's results."""

    layers: int
    heads: int
    channels: int
    rows: int
    positions: int

    def of(self, name: str) -> tuple[int, ...]:
        """Sizes of one block of an array of the schema, without its dim `task`."""
        sizes = {
            "layer": self.layers,
            "head": self.heads,
            "channel": self.channels,
            "token": self.rows,
            "position": self.positions,
            "source": len(SOURCES),
            "statistic": len(STATISTICS),
            "ratio": len(RATIOS),
            "offset": len(OFFSETS),
        }
        return tuple(sizes[dim] for dim in _ARRAYS[name].dims if dim != "task")


def layer_axis(name: str) -> int:
    """Index of the dim `layer` in an array of the schema."""
    return _ARRAYS[name].dims.index("layer")


class BlockBuffers:
    """Results of a block: per token in float16 by row of the block, sums over its sentences in float64.

    Keys are stored less `key_constant` (layer, head, channel), see `store.repository.arrays`. Of a block that is not `kept` there
    are only sums; with `squares` these are what an interval needs too.
    """

    def __init__(
        self,
        shape: Shape,
        device: torch.device,
        key_constant: Tensor,
        *,
        kept: bool = True,
        squares: bool = False,
    ) -> None:
        self.key_constant, self.squares = key_constant.to(device), squares
        names = PER_TOKEN if kept else ()
        self.per_token = {name: torch.empty(shape.of(name), dtype=torch.float16, device=device) for name in names}
        # Apple's GPUs have no float64: there the sums are kept on the host.
        self._exact_device = torch.device("cpu") if device.type == "mps" else device
        self.per_block = {
            name: torch.zeros(shape.of(name), dtype=getattr(torch, _ARRAYS[name].dtype), device=self._exact_device)
            for name in (*PER_BLOCK, *(SQUARES if squares else ()))
        }
        self._host = _pinned_like(self.per_token) if device.type == "cuda" else self.per_token
        self._copied: torch.cuda.Event | None = None

    def clear(self, tokens: int) -> None:
        """Prepare for a block of so many tokens: padding is NaN, sums are 0."""
        for name, tensor in self.per_token.items():
            axis = MODEL_ARRAYS[name].dims.index("token")
            tensor.narrow(axis, tokens, tensor.shape[axis] - tokens).fill_(float("nan"))
        for tensor in self.per_block.values():
            tensor.zero_()

    def put(self, name: str, layer: int, rows: Tensor, values: Tensor) -> None:
        """Store a layer's values at rows of the block, if it is kept; `values` has the array's dims without the layer."""
        if name not in self.per_token:
            return
        into, values = self.per_token[name].select(layer_axis(name), layer), values.half()
        axis = MODEL_ARRAYS[name].dims.index("token") - 1
        if into.device.type == "cpu":
            _place(into, axis, rows, values)
        else:
            into.index_copy_(axis, rows, values)

    def add(self, sums: Sums) -> None:
        """Add a batch's sums over sentences; its positions are the first ones."""
        for name, tensor in sums.items():
            self.per_block[name][tuple(slice(size) for size in tensor.shape)] += tensor.to(self._exact_device)

    def exact(self, tensor: Tensor) -> Tensor:
        """The tensor in float64, where sums are exact."""
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


def _place(into: Tensor, axis: int, rows: Tensor, values: Tensor) -> None:
    """As `index_copy_` on a CPU, in a fraction of its time."""
    from ingest.encode.vectors_pass import place_numbers, place_vectors

    target, source = (tensor.view(torch.int16).numpy() for tensor in (into, values))
    if axis < into.ndim - 1:
        place_vectors(target, rows.numpy(), source)
    else:
        place_numbers(np.atleast_3d(target.T).T, rows.numpy(), np.atleast_3d(source.T).T)


def _pinned_like(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True) for name, tensor in tensors.items()}
