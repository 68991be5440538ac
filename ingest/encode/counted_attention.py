"""Attention of a model on a CPU that counts patterns while it uses them: each is computed once, and lives in the cache of a core.

Linear layers hold their weight in the order of oneDNN, in float32. torch multiplies by MKL, which packs the weight again in
every product, and on processors that are not Intel's uses half of their width: there oneDNN takes less than half the time.
Where torch has no oneDNN, layers stay as they are. Mixing ratios follow from the counted patterns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ingest.family.protocol import LayerParts
from store.kernels.bias import AttentionBias, masks_of
from store.kernels.statistics import sink_threshold
from store.schema.model import OFFSETS, RATIOS, STATISTICS

#: Number of rows of a product that oneDNN orders a weight for; with other numbers of rows the order is not the best.
PRODUCT_ROWS = 512


class PackedLinear(nn.Module):
    """A linear layer that holds its weight in packed form only."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self._packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), PRODUCT_ROWS)
        self.bias = linear.bias

    @property
    def weight(self) -> Tensor:
        """A copy of the weight, not packed: (output, input)."""
        return self._packed.to_dense()

    def forward(self, vectors: Tensor) -> Tensor:
        """Outputs of the layer, as of `nn.Linear` but for rounding; without gradients."""
        return self._product(vectors, self.bias)

    def product(self, vectors: Tensor) -> Tensor:
        """Vectors multiplied by the weight, without the bias."""
        return self._product(vectors, None)

    def _product(self, vectors: Tensor, bias: Tensor | None) -> Tensor:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(vectors, self._packed, bias, "none", [], "")
        return product


def can_pack(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether layers that multiply in this dtype can be packed on the device."""
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

    A single product is large, and oneDNN takes half the time for it.
    """
    if len(left) > 1 or not can_pack(left.device, left.dtype):
        return torch.bmm(left, right)
    product: Tensor = torch.ops.mkldnn._linear_pointwise(left[0], right[0].T, None, "none", [], "")
    return product[None]


#: Attention weights in memory at once: as many as fit into the cache of a core.
ROOM = 1 << 18
#: The logit of a key that a query does not see.
LEAST = -1e9


@dataclass(frozen=True)
class Counted:
    """Numbers that follow from a layer's patterns, without padding.

    Attributes
    ----------
    statistics
        `token_statistics` (statistic, head, token).
    value_norm
        Lengths of the transformed values (head, token).
    profile
        `offset_profile` of all sentences: (offset, head).
    received_at
        Attention received by position, mean over queries and sum over sentences: (position, head).
    context
        Values weighted by the patterns (token, head and channel), in float32.
    """

    statistics: Tensor
    value_norm: Tensor
    profile: Tensor
    received_at: Tensor
    context: Tensor


@dataclass(frozen=True)
class Sentences:
    """Sentences one after the other, without padding.

    Attributes
    ----------
    lengths
        Tokens of each sentence (sentence,).
    flags
        Token flags of the schema (token,).
    """

    lengths: NDArray[np.int64]
    flags: NDArray[np.uint8]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First token of each sentence, and the one after the last: (sentence + 1,)."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    @property
    def positions(self) -> NDArray[np.int64]:
        """Position of each token in its sentence: (token,)."""
        return np.arange(len(self.flags)) - np.repeat(self.starts[:-1], self.lengths)


@dataclass(frozen=True)
class Counting:
    """Attends in the layers of a model on a CPU in float32.

    Attributes
    ----------
    grams, bias
        `output_grams` of the model, and the bias that it adds to logits.
    layers
        Numbers of each layer that has attended so far.
    """

    sentences: Sentences
    grams: Sequence[Tensor]
    bias: AttentionBias | None
    layers: list[Counted] = field(default_factory=list)

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Outputs of the heads of a layer; see `ingest.encode.capture.AttendInLayer`."""
        self.layers.append(self.count(layer, query, key, value))
        return self.layers[-1].context.unflatten(-1, value.shape[1:])

    def count(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Counted:
        """Numbers of a layer's patterns, from its queries, keys and values."""
        bias = self.bias and self.bias.part(layer)
        return attend_and_summarize(query, key, value, self.grams[layer], self.sentences, bias)


def attend_and_summarize(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    gram: Tensor,
    sentences: Sentences,
    bias: AttentionBias | None = None,
    *,
    room: int = ROOM,
) -> Counted:
    """Attention between the tokens of each sentence, and the numbers of its patterns.

    Parameters
    ----------
    query, key, value
        (token, head, channel) in float32, contiguous.
    gram
        `output_gram` of the layer (head, channel, channel).
    bias
        Bias that the model adds to the logits of the layer.
    room
        Attention weights in memory at once.
    """
    from ingest.encode.compiled import unpad

    (tokens, heads, channels), longest = query.shape, int(sentences.lengths.max())
    counted = Counted(
        torch.empty(len(STATISTICS), heads, tokens),
        _value_norms(value, gram),
        torch.zeros(heads, len(OFFSETS), dtype=torch.float64).T,
        torch.zeros(heads, longest, dtype=torch.float64).T,
        torch.empty(tokens, heads * channels),
    )
    vectors = [_padded(each, sentences) for each in (query, key, value)]
    at_once = max(1, room // (len(sentences.lengths) * longest**2))
    for first in range(0, heads, at_once):
        own = slice(first, first + at_once)
        _count_heads(own, vectors, sentences, counted, bias and bias.of_heads(own))
    unpad(vectors[0].numpy(), sentences.starts, counted.context.unflatten(1, (heads, channels)).numpy())
    return counted


def _value_norms(value: Tensor, gram: Tensor) -> Tensor:
    from ingest.encode.compiled import norms_of

    norms = torch.empty(value.shape[1], len(value))
    norms_of(value.numpy(), torch.matmul(value.transpose(0, 1), gram).numpy(), norms.numpy())
    return norms


def _padded(vectors: Tensor, sentences: Sentences) -> Tensor:
    """Vectors with padding (head, sentence, token, channel), from vectors (token, head, channel)."""
    from ingest.encode.compiled import pad

    _, heads, channels = vectors.shape
    padded = torch.empty(heads, len(sentences.lengths), int(sentences.lengths.max()), channels)
    pad(vectors.numpy(), sentences.starts, padded.numpy())
    return padded


def _count_heads(
    own: slice, vectors: list[Tensor], sentences: Sentences, counted: Counted, bias: AttentionBias | None
) -> None:
    """Count the patterns of some heads from their vectors (head, sentence, token, channel); context replaces the queries."""
    from ingest.encode.compiled import PLACES, accumulate_statistics

    query, key, value = (each[own].flatten(0, 1) for each in vectors)
    pattern = batch_product(query, key.transpose(1, 2))
    if bias is not None:
        _add_bias(pattern.unflatten(0, vectors[0][own].shape[:2]), bias, vectors[0][own], vectors[1][own])
    accumulate_statistics(
        pattern.unflatten(0, (-1, len(sentences.lengths))).numpy(),
        query.shape[-1] ** -0.5,
        sentences.starts,
        sentences.flags,
        counted.value_norm[own].numpy(),
        sink_threshold(sentences.lengths, pattern.shape[-1], masks_of(bias, 1)[0]),
        counted.statistics[:, own].numpy(),
        counted.profile.T[own].numpy(),
        counted.received_at.T[own].numpy(),
        PLACES,
    )
    query.copy_(batch_product(pattern, value))


def _add_bias(products: Tensor, bias: AttentionBias, query: Tensor, key: Tensor) -> None:
    """Add the model's bias to products of queries and keys, which are divided by sqrt(channels) later."""
    products *= query.shape[-1] ** -0.5
    bias.add_to(products, query, key)
    # The compiled pass takes no infinite number, and no weight is less than 2^-126.
    products.clamp_(min=LEAST)
    products *= query.shape[-1] ** 0.5


_TO_SELF = list(STATISTICS).index("to_self")


@dataclass(frozen=True)
class CountedMixing:
    """The output projection of a layer as `store.kernels.mixing` needs it.

    Attributes
    ----------
    product
        Function that multiplies vectors (token, head and channel) by the projection's weight.
    bias, gain
        Bias of the projection, and gamma of the layer norm after it: (feature,).
    centres
        Whether the norm subtracts the mean of a vector.
    """

    product: Callable[[Tensor], Tensor]
    bias: Tensor
    gain: Tensor
    centres: bool

    @classmethod
    def of(cls, layer: LayerParts) -> "CountedMixing":
        """The output projection of a layer."""
        dense = layer.output
        weight, bias, gain = (part.detach().float() for part in (*layer.output_map, layer.norm.weight))
        product = dense.product if isinstance(dense, PackedLinear) else lambda vectors: vectors @ weight
        return cls(product, bias, gain, layer.centres)

    def ratios(self, counted: Counted, value: Tensor, layer_input: Tensor, projected: Tensor) -> Tensor:
        """Mixing ratios (ratio, token).

        Takes values (token, head, channel), and captured vectors (token, feature): the layer's input, and the projection's output
        `projected`. The latter saves a product; in 16 bits it is not exact enough, and is computed here.
        """
        from ingest.encode.compiled import mixing_of

        to_self = counted.statistics[_TO_SELF]
        own = self.product((value * to_self.T[..., None]).flatten(1))
        exact = projected.dtype == torch.float32
        attended = projected - self.bias if exact else self.product(counted.context)
        ratios = torch.empty(len(RATIOS), len(own))
        parts = (to_self, attended, own, layer_input.float(), self.gain, ratios)
        mixing_of(self.centres, *(part.numpy() for part in parts))
        return ratios
