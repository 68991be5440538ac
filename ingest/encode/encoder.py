"""Compute everything the store holds of the tokens of a block. Patterns live no longer than their batch."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ingest.encode.batches import Batch, make_batches
from ingest.encode.bert import Bert, Capture
from ingest.encode.buffers import SQUARES, BlockBuffers, Sums, layer_axis
from ingest.run.checkpoint import Checkpoint
from ingest.run.parallel import one_thread_each
from ingest.run.settings import Settings
from ingest.text.blocks import Block
from store.kernels.attention import attention_logits, softmax, value_norm
from store.kernels.moments import squared_sums
from store.kernels.statistics import (
    offset_profile,
    row_weights,
    source_rows,
    sum_over_sentences,
    summed_pattern,
    token_statistics,
)

BATCH_TOKENS = {"cuda": 65536, "mps": 8192, "cpu": 512}
#: Wordpieces of a sentence for which these are meant.
USUAL_LENGTH = 128


def default_batch(device: str, *, max_length: int) -> int:
    """Default tokens of one forward pass: fewer for longer sentences, whose patterns then take no more memory."""
    tokens = BATCH_TOKENS[device]
    return tokens if device == "cpu" else min(tokens, tokens * USUAL_LENGTH // max_length)


def open_encoder(checkpoint: Checkpoint, settings: Settings, device: torch.device, dtype: torch.dtype) -> "Encoder":
    """The model on the device, with the batches that an ingest of these settings takes."""
    bert = Bert(checkpoint, device=device, dtype=dtype, packed=True)
    usual = default_batch(device.type, max_length=settings.max_length)
    return Encoder(bert, batch_tokens=settings.batch or usual)


class Encoder:
    """Runs a BERT over blocks. On a CPU one batch a core at a time: many small steps share cores badly within a step."""

    def __init__(self, bert: Bert, *, batch_tokens: int | None = None) -> None:
        self.bert = bert
        self.batch_tokens = batch_tokens or BATCH_TOKENS[bert.device.type]
        self._grams = bert.output_grams()
        self._projections = bert.output_projections()

    @property
    def streams(self) -> int:
        """How many batches run at the same time."""
        return torch.get_num_threads() if self.bert.device.type == "cpu" else 1

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
        tensors = BatchTensors.on(self.bert.device, batch)
        capture = self.bert.run(tensors.token_ids, tensors.mask)
        with torch.inference_mode():
            padded = row_weights(buffers.exact(tensors.sources))
            weight = padded, tensors.without_padding(padded.permute(1, 2, 0))
            layers = [self._encode_layer(layer, capture, tensors, weight, buffers) for layer in range(self.bert.layers)]
            return {
                "block_count": tensors.sources.any(dim=-1).sum(dim=-1),
                "block_tokens_at": tensors.real.sum(dim=0),
                **{
                    name: torch.stack([layer[name] for layer in layers], dim=layer_axis(name) - 1) for name in layers[0]
                },
            }

    def _encode_layer(
        self, layer: int, capture: Capture, batch: "BatchTensors", weight: tuple[Tensor, Tensor], buffers: BlockBuffers
    ) -> Sums:
        query, key, value = (
            self.bert.split_heads(tensors[layer]) for tensors in (capture.query, capture.key, capture.value)
        )
        logits = attention_logits(
            query.transpose(1, 2), key.transpose(1, 2), None if batch.mask is None else batch.mask[:, None]
        )
        pattern = softmax(logits)
        # All sentences of a head in one product: one a sentence would take four times as long.
        norms = value_norm(value.flatten(0, 1).transpose(0, 1), self._grams[layer])
        norms = norms.unflatten(1, batch.real.shape).transpose(0, 1)
        statistics, profile, received_at = self._pass_over(pattern, logits, batch, norms, buffers)
        # Rounded before they are summed: a mean is that of the stored rows, as its interval is and that of any part.
        padded = statistics.permute(1, 3, 0, 2).half()
        statistics = batch.without_padding(padded)
        ratios = self._projections[layer].mixing(pattern, value, capture.layer_input[layer], capture.projected[layer])
        mixing = batch.without_padding(ratios.permute(1, 2, 0)).half()
        stored_key = (key - buffers.key_constant[layer]).half()
        buffers.put("query", layer, batch.rows, batch.without_padding(query.half()).transpose(0, 1))
        buffers.put("key", layer, batch.rows, batch.without_padding(stored_key).transpose(0, 1))
        buffers.put("value_norm", layer, batch.rows, batch.without_padding(norms.transpose(1, 2)).T)
        buffers.put("token_statistic", layer, batch.rows, statistics.permute(1, 2, 0))
        buffers.put("token_mixing", layer, batch.rows, mixing.T)
        of_row, of_token = weight
        squares = squared_sums(buffers.exact(batch.with_zeros(padded)), of_row) if buffers.squares else ()
        return {
            "block_sum": sum_over_sentences(buffers.exact(statistics), of_token),
            "block_mixing_sum": sum_over_sentences(buffers.exact(mixing)[..., None], of_token)[..., 0],
            "block_profile": profile,
            "block_received_at": received_at,
            **dict(zip(SQUARES, squares, strict=False)),
        }

    def _pass_over(
        self, pattern: Tensor, logits: Tensor, batch: "BatchTensors", norms: Tensor, buffers: BlockBuffers
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Token statistics, offset profile and attention received by position, see `pattern_pass`."""
        if pattern.device.type == "cpu":
            from ingest.encode.pattern_pass import pass_over

            return pass_over(pattern, logits, batch.real.sum(dim=-1), batch.flags, norms)
        statistics = token_statistics(pattern, batch.flags, batch.real, norms)
        summed = buffers.exact(summed_pattern(pattern, batch.real))
        return statistics, offset_profile(summed), summed.sum(dim=1).T


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
        """(real token, ...) from (sentence, token, ...). By index: a mask would make a GPU wait for the count."""
        flat = tensor.flatten(0, 1)
        return flat if self.mask is None else flat.index_select(0, self.places.to(flat.device))

    def with_zeros(self, tensor: Tensor) -> Tensor:
        """(sentence, token, ...) with 0 in the padding, where numbers have no meaning."""
        return tensor.where(self.real[..., None, None], 0)
