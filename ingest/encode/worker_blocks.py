"""Encode blocks on workers: each loads the model once, and writes a block while it encodes the next."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from queue import Queue

import numpy as np
import torch

from ingest.encode.buffers import SQUARES, BlockBuffers, Shape
from ingest.encode.encoder import Encoder, open_encoder
from ingest.encode.tensors import ModelGroup, transactions, write_encoded
from ingest.run.checkpoint import find_checkpoint
from ingest.run.cluster import Cluster
from ingest.run.errors import IngestError
from ingest.run.held import held_models
from ingest.run.settings import Settings
from ingest.run.worker import begin_next
from ingest.text.blocks import Block
from store.repository.arrays import CONSTANT, array_of
from store.repository.writer import Writable, Writer


@dataclass(frozen=True)
class Loading:
    """What a worker loads the model from. A model of the hub is downloaded there, a folder must be there too."""

    settings: Settings
    device: str
    dtype: torch.dtype
    weights_sha256: str

    def load(self) -> Encoder:
        """The encoder that the driver would use."""
        checkpoint = find_checkpoint(self.settings.model, held=partial(held_models, self.settings.store))
        if checkpoint.weights_sha256 != self.weights_sha256:
            raise IngestError(
                f"A worker finds other weights under the name {checkpoint.name}. Give a --model that is the same on all machines."
            )
        return open_encoder(checkpoint, self.settings, torch.device(self.device), self.dtype)


@dataclass(frozen=True)
class BlockTask:
    """Encodes a block and writes it, except for the commit."""

    model: ModelGroup
    shape: Shape
    loading: Loading

    def __call__(self, fork: Writable, block: Block) -> None:
        """Encode and write a block."""
        group = fork.group(self.model.path)
        constant = np.asarray(array_of(group, CONSTANT)[:]).tobytes()
        encoder = _encoder(self.loading)
        free = _buffers(self.shape, encoder.model.device, constant, kept=block.vectors, squares=SQUARES[0] in group)
        buffers = free.get()
        try:
            encoder.encode(block, buffers)
            begin_next()
            write_encoded(fork, self.model, block, buffers)
        finally:
            free.put(buffers)


@lru_cache(maxsize=1)
def _encoder(loading: Loading) -> Encoder:
    """The model, loaded once."""
    return loading.load()


@lru_cache(maxsize=2)
def _buffers(shape: Shape, device: torch.device, constant: bytes, *, kept: bool, squares: bool) -> Queue[BlockBuffers]:
    """Room for the results of a block that is encoded and of one that is written, used again and again."""
    values = np.frombuffer(constant, np.float32).reshape(shape.layers, shape.heads, shape.channels)
    free: Queue[BlockBuffers] = Queue()
    for _ in range(2):
        free.put(BlockBuffers(shape, device, torch.from_numpy(values.copy()), kept=kept, squares=squares))
    return free


def encode_on_workers(
    cluster: Cluster, writer: Writer, model: ModelGroup, loading: Loading, blocks: list[Block], shape: Shape
) -> Iterator[Block]:
    """Yield blocks in order once they are committed."""
    task = BlockTask(model, shape, loading)
    for several, _ in cluster.joined(writer, task, transactions(blocks)):
        writer.commit(f"{model.key}: block {several[-1].index}")
        yield from several
