"""Mixing ratios of tokens whose patterns were counted, on a CPU."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ingest.encode.counted_attention import Counted
from ingest.encode.packed_linear import PackedLinear
from ingest.family.protocol import LayerParts
from store.schema.model import RATIOS, STATISTICS

_TO_SELF = list(STATISTICS).index("to_self")


@dataclass(frozen=True)
class CountedMixing:
    """The output projection of a layer as `store.kernels.attention` needs it.

    Attributes
    ----------
    product
        Multiplies vectors (token, head and channel) by its weight.
    bias, gain
        Its bias, and gamma of the layer norm after it: (feature,).
    """

    product: Callable[[Tensor], Tensor]
    bias: Tensor
    gain: Tensor

    @classmethod
    def of(cls, layer: LayerParts) -> "CountedMixing":
        """That of a layer."""
        dense = layer.output
        weight = None if isinstance(dense, PackedLinear) else dense.weight.detach().float().T
        product = dense.product if weight is None else lambda vectors: vectors @ weight
        return cls(product, dense.bias.detach().float(), layer.norm.weight.detach().float())

    def ratios(self, counted: Counted, value: Tensor, layer_input: Tensor, projected: Tensor) -> Tensor:
        """Mixing ratios (ratio, token).

        From values (token, head, channel), and what a pass captured of the layer, (token, feature): its input, and what it
        `projected`, which saves a product; in 16 bits it is not exact enough, and computed here.
        """
        from ingest.encode.vectors_pass import mixing_of

        to_self = counted.statistics[_TO_SELF]
        own = self.product((value * to_self.T[..., None]).flatten(1))
        exact = projected.dtype == torch.float32
        attended = projected - self.bias if exact else self.product(counted.context)
        ratios = torch.empty(len(RATIOS), len(own))
        parts = (to_self, attended, own, layer_input.float(), self.gain, ratios)
        mixing_of(*(part.numpy() for part in parts))
        return ratios
