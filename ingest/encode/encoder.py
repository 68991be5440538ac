"""Compute everything the store holds of the tokens of a block. Patterns live no longer than their batch.

The results of a block are in buffers on the device, which are copied to the host while the next block is computed, and
written from there.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
import zarr
from numpy.typing import NDArray
from torch import Tensor

from ingest.encode.capture import Capture
from ingest.encode.counted_attention import CountedMixing, Counting, Sentences
from ingest.encode.hooked_model import HookedModel, check_attention
from ingest.run.checkpoint import Checkpoint
from ingest.run.errors import IngestError
from ingest.run.parallel import one_thread_each
from ingest.run.settings import Settings
from ingest.text.blocks import Batch, Block, make_batches
from store.kernels.attention import attention_pattern, value_norm
from store.kernels.bias import AttentionBias, masks_of
from store.kernels.intervals import squared_sums
from store.kernels.statistics import (
    offset_profile,
    row_weights,
    source_rows,
    sum_over_sentences,
    summed_pattern,
    token_statistics,
)
from store.repository.arrays import array_of, write_block
from store.schema import BLOCK
from store.schema.model import MODEL_ARRAYS, OFFSETS, RATIOS, ROLES, SOURCES, SQUARE_ARRAYS, STATISTICS

#: Arrays of the schema that are sums over sentences, by name, without the dim task.
Sums = Mapping[str, Tensor]

PER_TOKEN = ("query", "key", "value_norm", "token_statistic", "token_mixing")
PER_BLOCK = ("block_sum", "block_count", "block_profile", "block_received_at", "block_tokens_at", "block_mixing_sum")
#: Sums of a model that does not store the vectors of all sentences; other models have none of these.
SQUARES = tuple(SQUARE_ARRAYS)

#: Mask of a float16's bits without the sign; such bits, as a whole number, are infinite or NaN from `INFINITE` on.
MAGNITUDE, INFINITE = np.uint16(0x7FFF), 0x7C00
#: Default tokens of one forward pass, by device.
BATCH_TOKENS = {"cuda": 65536, "mps": 8192, "cpu": 512}
#: Wordpieces of a sentence that `BATCH_TOKENS` is meant for.
USUAL_LENGTH = 128

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

    Keys are stored less `key_constant` (layer, head, channel), see `store.repository.arrays`. A block that is not `kept`
    has sums only; with `squares` also the sums that an interval needs.
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
        """Prepare for a block of `tokens` tokens: padding is NaN, sums are 0."""
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
        """The tensor in float64, on the device that holds the sums."""
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

    def write(self, group: zarr.Group, block: Block, task_hash: int) -> None:
        """Write everything that the store holds of the block, in whole chunks: no other block has a part in them."""
        arrays = self.arrays()
        _check_finite(arrays, block.tokens)
        for name, array in arrays.items():
            write_block(array_of(group, name), array, block=block.index)
        for name, tensor in self.per_block.items():
            array_of(group, name)[block.index] = tensor.cpu().numpy()
        array_of(group, "task_hash")[block.index] = np.uint64(task_hash)


def _check_finite(arrays: Mapping[str, NDArray[np.floating]], tokens: int) -> None:
    """Refuse a query, key or value norm beyond float16: every number that follows from it would be NaN."""
    for role in {*ROLES, "value_norm"} & arrays.keys():
        layers = (layer for layer, values in enumerate(arrays[role]) if not _is_finite(values[:, :tokens]))
        if (layer := next(layers, None)) is not None:
            raise IngestError(
                f"A {role.replace('_', ' ')} of layer {layer} is beyond the range of float16, so its attention cannot be stored. "
                "Give a --model whose weights are those of a trained BERT."
            )


def _is_finite(values: NDArray[np.floating]) -> bool:
    """Whether all vectors (head, token, channel) are finite; head by head, in the cache of a core: seven times as fast as at once."""
    return all(int((own.view(np.uint16) & MAGNITUDE).max()) < INFINITE for own in values)


def _place(into: Tensor, axis: int, rows: Tensor, values: Tensor) -> None:
    """Copy values to rows, as `index_copy_` does on a CPU, in a fraction of its time."""
    from ingest.encode.compiled import place_numbers, place_vectors

    target, source = (tensor.view(torch.int16).numpy() for tensor in (into, values))
    if axis < into.ndim - 1:
        place_vectors(target, rows.numpy(), source)
    else:
        place_numbers(np.atleast_3d(target.T).T, rows.numpy(), np.atleast_3d(source.T).T)


def _pinned_like(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True) for name, tensor in tensors.items()}


def default_batch(device: str, *, max_length: int) -> int:
    """Default tokens of one forward pass: fewer for longer sentences, whose patterns then take no more memory."""
    tokens = BATCH_TOKENS[device]
    if device == "cpu":
        return tokens
    # In one batch three quarters of a block would be padding; a third batch takes longer to launch than it saves.
    return min(tokens, 2 * BLOCK, tokens * USUAL_LENGTH // max_length)


def open_encoder(checkpoint: Checkpoint, settings: Settings, device: torch.device, dtype: torch.dtype) -> "Encoder":
    """The model on the device, with the batches that an ingest of these settings takes."""
    model = HookedModel(checkpoint, device=device, dtype=dtype, packed=True)
    check_attention(model, checkpoint.name)
    usual = default_batch(device.type, max_length=settings.max_length)
    return Encoder(model, batch_tokens=settings.batch or usual)


class Encoder:
    """Runs a model over blocks. On a CPU each core runs a batch: the steps within one are too small to share cores."""

    def __init__(self, model: HookedModel, *, batch_tokens: int | None = None, counts: bool | None = None) -> None:
        """`counts`: whether patterns are counted in the forward pass, as by default on a CPU, or by formulas after it."""
        self.model = model
        self.batch_tokens = batch_tokens or BATCH_TOKENS[model.device.type]
        self._counts = model.device.type == "cpu" if counts is None else counts
        self._grams, self._bias = model.output_grams(), model.bias
        if self._counts:
            self._mixing = list(map(CountedMixing.of, model.parts.layers))
        else:
            self._projections = model.output_projections()

    @property
    def streams(self) -> int:
        """Number of batches that run at the same time."""
        return torch.get_num_threads() if self.model.device.type == "cpu" else 1

    def encode(self, block: Block, buffers: BlockBuffers) -> None:
        """Fill the buffers with the block's queries, keys, value norms, statistics, mixing ratios and sums."""
        buffers.clear(block.tokens)
        batches = make_batches(block, tokens=self.batch_tokens)
        streams = self.streams
        with one_thread_each(streams), ThreadPoolExecutor(streams, "encode") as pool:
            # Added in the order of the batches, so that the sums are the same bit for bit every time.
            for sums in pool.map(lambda batch: self._encode_batch(batch, buffers), batches):
                buffers.add(sums)
        buffers.send()

    def _encode_batch(self, batch: Batch, buffers: BlockBuffers) -> Sums:
        """Store the values per token; return the sums over sentences with their counts."""
        tensors = BatchTensors.on(self.model.device, batch)
        numbers = self._counted(tensors) if self._counts else self._by_formulas(tensors, buffers)
        with torch.inference_mode():
            padded = row_weights(buffers.exact(tensors.sources))
            weight = padded, tensors.without_padding(padded.permute(1, 2, 0))
            layers = [_store_layer(layer, own, tensors, weight, buffers) for layer, own in enumerate(numbers)]
            return {
                "block_count": tensors.sources.any(dim=-1).sum(dim=-1),
                "block_tokens_at": tensors.real.sum(dim=0),
                **{
                    name: torch.stack([layer[name] for layer in layers], dim=layer_axis(name) - 1) for name in layers[0]
                },
            }

    def _counted(self, batch: "BatchTensors") -> Iterator["LayerNumbers"]:
        """Numbers of each layer from counted patterns: within a pass without padding in float32, after the pass in 16 bits."""
        sentences = Sentences(batch.real.sum(dim=-1).numpy(), batch.without_padding(batch.flags).numpy())
        counting = Counting(sentences, self._grams, self._bias)
        in_pass = self.model.dtype == torch.float32
        if in_pass:
            token_ids = batch.without_padding(batch.token_ids)
            capture = self.model.run_unpadded(token_ids, sentences.positions, counting.attend)
        else:
            capture = self.model.run(batch.token_ids, batch.mask)
        for layer, mixing in enumerate(self._mixing):
            query, key, value, layer_input, projected = (
                vectors[layer][0] if in_pass else batch.without_padding(vectors[layer])
                for vectors in (capture.query, capture.key, capture.value, capture.layer_input, capture.projected)
            )
            query, key, value = (vectors.float() for vectors in (query, key, value))
            counted = counting.layers[layer] if in_pass else counting.count(layer, query, key, value)
            yield LayerNumbers(
                query.transpose(0, 1),
                key.transpose(0, 1),
                counted.value_norm,
                counted.statistics,
                mixing.ratios(counted, value, layer_input, projected),
                counted.profile,
                counted.received_at,
            )

    def _of_layer(self, layer: int) -> AttentionBias | None:
        """Bias that the model adds to the logits of a layer."""
        return self._bias and self._bias.part(layer)

    def _pattern(self, layer: int, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
        """Patterns (sentence, head, query_token, key_token) of vectors (sentence, head, token, channel)."""
        if self._bias is None:
            pattern: Tensor = attention_pattern(query, key, None if mask is None else mask[:, None])
            return pattern
        by_head: Tensor = attention_pattern(
            query.transpose(0, 1), key.transpose(0, 1), mask, bias=self._of_layer(layer)
        )
        return by_head.transpose(0, 1)

    def _by_formulas(self, batch: "BatchTensors", buffers: BlockBuffers) -> Iterator["LayerNumbers"]:
        """Numbers of each layer by the formulas of `store.kernels`, which are fast on a GPU."""
        capture = self.model.run(batch.token_ids, batch.mask)
        return (self._layer_by_formulas(layer, capture, batch, buffers) for layer in range(self.model.layers))

    def _layer_by_formulas(
        self, layer: int, capture: Capture, batch: "BatchTensors", buffers: BlockBuffers
    ) -> "LayerNumbers":
        query, key, value = (tensors[layer].float() for tensors in (capture.query, capture.key, capture.value))
        pattern = self._pattern(layer, query.transpose(1, 2), key.transpose(1, 2), batch.mask)
        # All sentences of a head in one product: one a sentence would take four times as long.
        norms = value_norm(value.flatten(0, 1).transpose(0, 1), self._grams[layer])
        norms = norms.unflatten(1, batch.real.shape).transpose(0, 1)
        statistics = token_statistics(pattern, batch.flags, batch.real, norms, masks_of(self._of_layer(layer), 1)[0])
        summed = buffers.exact(summed_pattern(pattern, batch.real))
        ratios = self._projections[layer].mixing(pattern, value, capture.layer_input[layer], capture.projected[layer])
        return LayerNumbers(
            batch.without_padding(query).transpose(0, 1),
            batch.without_padding(key).transpose(0, 1),
            batch.without_padding(norms.transpose(1, 2)).T,
            batch.without_padding(statistics.permute(1, 3, 0, 2)).permute(1, 2, 0),
            batch.without_padding(ratios.permute(1, 2, 0)).T,
            offset_profile(summed),
            summed.sum(dim=1).T,
        )


@dataclass(frozen=True)
class LayerNumbers:
    """Numbers of a layer that the store holds for the tokens of a batch, without padding.

    Attributes
    ----------
    query, key
        (head, token, channel).
    value_norm
        (head, token).
    statistics, mixing
        (statistic, head, token) and (ratio, token).
    profile, received_at
        Sums over sentences in float64: (offset, head) and (position, head).
    """

    query: Tensor
    key: Tensor
    value_norm: Tensor
    statistics: Tensor
    mixing: Tensor
    profile: Tensor
    received_at: Tensor


def _store_layer(
    layer: int, numbers: LayerNumbers, batch: "BatchTensors", weight: tuple[Tensor, Tensor], buffers: BlockBuffers
) -> Sums:
    """Store a layer's values per token; return its sums over sentences."""
    # Rounded before they are summed: means and intervals, of all rows or of some, are then those of the stored rows.
    statistics, mixing = numbers.statistics.half(), numbers.mixing.half()
    buffers.put("query", layer, batch.rows, numbers.query)
    buffers.put("key", layer, batch.rows, numbers.key - buffers.key_constant[layer][:, None])
    buffers.put("value_norm", layer, batch.rows, numbers.value_norm)
    buffers.put("token_statistic", layer, batch.rows, statistics)
    buffers.put("token_mixing", layer, batch.rows, mixing)
    of_row, of_token = weight
    by_token = buffers.exact(statistics).permute(2, 0, 1)
    squares = squared_sums(batch.with_padding(by_token), of_row) if buffers.squares else ()
    return {
        "block_sum": sum_over_sentences(by_token, of_token),
        "block_mixing_sum": sum_over_sentences(buffers.exact(mixing).T[..., None], of_token)[..., 0],
        "block_profile": numbers.profile,
        "block_received_at": numbers.received_at,
        **dict(zip(SQUARES, squares, strict=False)),
    }


@dataclass(frozen=True)
class BatchTensors:
    """A batch on the device."""

    token_ids: Tensor
    real: Tensor
    mask: Tensor | None
    flags: Tensor
    places: Tensor
    rows: Tensor
    sources: Tensor

    @classmethod
    def on(cls, device: torch.device, batch: Batch) -> "BatchTensors":
        """Copy a batch to the device."""
        arrays = (batch.token_ids, batch.real, batch.flags, np.flatnonzero(batch.real), batch.rows)
        token_ids, real, flags, places, rows = (
            torch.from_numpy(array).to(device, non_blocking=True) for array in arrays
        )
        mask = None if batch.real.all() else real
        return cls(token_ids, real, mask, flags, places, rows, source_rows(flags, real))

    def without_padding(self, tensor: Tensor) -> Tensor:
        """Rows of real tokens (real token, ...), from (sentence, token, ...). By index: a mask would make a GPU wait for the count."""
        flat = tensor.flatten(0, 1)
        return flat if self.mask is None else flat.index_select(0, self.places.to(flat.device))

    def with_padding(self, tensor: Tensor) -> Tensor:
        """Rows with padding (sentence, token, ...), from rows of real tokens (real token, ...); 0 in the padding."""
        padded = tensor.new_zeros(self.real.numel(), *tensor.shape[1:])
        return padded.index_copy_(0, self.places.to(tensor.device), tensor).unflatten(0, self.real.shape)
