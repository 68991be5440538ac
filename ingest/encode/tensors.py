"""Stage `tensors`: run the model over the blocks that are not up to date; write each while the next is computed.

Each worker, where there are workers, loads the model once, and writes a block while it encodes the next.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import cycle
from queue import Queue
from typing import Any

import numpy as np
import torch
import zarr
from torch import Tensor

from ingest.encode.encoder import SQUARES, BlockBuffers, Encoder, Shape, open_encoder
from ingest.encode.hooked_model import HookedModel
from ingest.run.checkpoint import settings_checkpoint
from ingest.run.cluster import Cluster
from ingest.run.errors import IngestError
from ingest.run.parallel import begin_next
from ingest.run.progress import bar
from ingest.run.settings import Settings
from ingest.text.blocks import Block, PlannedCorpus, content_hash
from store.bias import write_bias
from store.means import means_of_blocks, sum_of_blocks
from store.repository.arrays import CONSTANT, array_of, create_arrays
from store.repository.writer import Writable, Writer
from store.schema import TILE
from store.schema.model import BOUNDS, COUNTED, MODEL_ARRAYS, OFFSETS, RATIOS, SOURCES, SQUARE_ARRAYS, STATISTICS

#: Changes with every change of numbers by more than the last bit of float16, which differs between machines.
VERSION = "tensors/4"
#: Number of statistics in that version. Names of later statistics are hashed too, so that every block gets their numbers.
STATISTICS_OF_VERSION = 17
#: A commit lists all blocks again. One part in `SHARE` of many blocks shares a commit: lists grow with the blocks, not their square.
SHARE = 64
#: Random sequences of wordpieces whose mean key is taken off the keys, see `key_constant`.
SEQUENCES, LENGTH = 32, 24
#: The mean key is rounded to multiples of this, so that another device or number of threads finds the same.
STEP = 1 / 64
ATTENTION = "softmax over the tokens of the sentence of query . key / sqrt(channels)"


@dataclass(frozen=True)
class ModelGroup:
    """The group of one model on one corpus, and what identifies it."""

    key: str
    identity: Mapping[str, Any]

    @property
    def path(self) -> str:
        """Path of the group in the store."""
        return f"models/{self.key}"

    def block_hash(self, block: Block) -> int:
        """Hash of everything the numbers of the block depend on."""
        kept = {} if block.vectors else {"vectors": False}
        added = list(STATISTICS)[STATISTICS_OF_VERSION:]
        numbers = {"version": VERSION} | ({"statistics": added} if added else {})
        return content_hash(dict(self.identity) | numbers | kept, block.lengths, block.token_ids)

    def sound_hashes(self, block: Block) -> set[int]:
        """Hashes with which the block is up to date: a block written with its vectors has the sums, too."""
        return {self.block_hash(block), self.block_hash(replace(block, vectors=True))}


def pending_blocks(writer: Writer, model: ModelGroup, corpus: PlannedCorpus) -> list[Block]:
    """Blocks of the plan whose numbers are missing or were computed from something else."""
    group = writer.group(model.path)
    done = np.asarray(array_of(group, "task_hash")[:]) if "task_hash" in group else np.zeros(0, np.uint64)
    return [
        block
        for block in corpus.blocks
        if block.index >= len(done) or int(done[block.index]) not in model.sound_hashes(block)
    ]


#: Function that encodes and commits blocks of a shape; yields each block once it is written.
EncodeBlocks = Callable[[list[Block], Shape], Iterator[Block]]


def encode_corpus(
    writer: Writer,
    model: ModelGroup,
    corpus: PlannedCorpus,
    blocks: list[Block],
    encoder: Encoder,
    elsewhere: EncodeBlocks | None = None,
) -> None:
    """Compute and write `blocks`, here or elsewhere. A kill loses the blocks in progress; of many blocks, a 64th part more."""
    shape = _prepare(writer, model, corpus, encoder)
    encode = elsewhere or partial(_write_behind, writer, model, encoder)
    done = corpus.tokens - sum(block.tokens for block in blocks)
    with bar("tensors", total=corpus.tokens, unit="tokens", done=done) as progress:
        for written in encode(blocks, shape):
            progress.update(written.tokens)


def _prepare(writer: Writer, model: ModelGroup, corpus: PlannedCorpus, encoder: Encoder) -> Shape:
    """Create arrays as long as the plan, never shorter than before; returns the shape of a block's results."""
    group, hooked = writer.group(model.path), encoder.model
    shape = Shape(hooked.layers, hooked.heads, hooked.channels, corpus.blocks[0].length, _positions(writer, corpus))
    fresh = "key" not in group
    create_model_arrays(group, shape, blocks=len(corpus.blocks), stored=len(corpus.stored.blocks))
    if fresh:  # later blocks take the constant of the first; in older stores it is 0
        array_of(group, CONSTANT)[:] = key_constant(hooked).cpu().numpy()
    array_of(group, "expansion_rate")[:] = hooked.expansion_rates()
    write_bias(group, hooked.bias)
    group.attrs.update(model.identity)
    if writer.changed:
        writer.commit(f"room for {model.key}")
    return shape


def key_constant(model: HookedModel) -> Tensor:
    """Mean key (layer, head, channel) over random sequences of wordpieces, in float32.

    All keys of a head contain it; it is subtracted before they are rounded to float16 (`store.repository.arrays`). It must not
    depend on the corpus, so that a store that grows equals a store made at once.
    """
    length = min(LENGTH, model.longest)
    wordpieces = np.random.default_rng(0).integers(model.config.vocab_size, size=(SEQUENCES, length))
    capture = model.run(torch.from_numpy(wordpieces).to(model.device), None)
    means = torch.stack([key.float().mean(dim=(0, 1)) for key in capture.key])
    return torch.round(means / STEP) * STEP


def _positions(writer: Writer, corpus: PlannedCorpus) -> int:
    """Tokens of the longest sentence that the corpus may have."""
    return int(str(writer.group(f"corpus/{corpus.key}").attrs["max_length"]))


def create_model_arrays(group: zarr.Group, shape: Shape, *, blocks: int, stored: int) -> None:
    """Every array of a model's group and the names of what is counted.

    The arrays have room for `blocks` blocks and for the vectors of the first `stored`, never for fewer than before.
    """
    before = array_of(group, "task_hash").shape[0] if "task_hash" in group else 0
    rows = array_of(group, "query").shape[2] if "query" in group else 0
    names: dict[str, Any] = {
        "layer": range(shape.layers),
        "head": range(shape.heads),
        "statistic": list(STATISTICS),
        "source": SOURCES,
        "ratio": list(RATIOS),
        "offset": OFFSETS,
        "bound": BOUNDS,
    }
    sizes = {name: len(values) for name, values in names.items()}
    sizes |= {"channel": shape.channels, "position": shape.positions, "task": max(before, blocks)}
    sizes |= {"token": max(rows, stored * shape.rows), "block": shape.rows, "tile": min(TILE, shape.rows)}
    create_arrays(group, MODEL_ARRAYS, sizes)
    if stored < blocks or SQUARES[0] in group:
        create_arrays(group, SQUARE_ARRAYS, sizes)
    for name, values in names.items():
        array_of(group, name)[:] = np.array(values, object if MODEL_ARRAYS[name].dtype == "str" else None)


def _write_behind(
    writer: Writer, model: ModelGroup, encoder: Encoder, blocks: list[Block], shape: Shape
) -> Iterator[Block]:
    """Compute a block while the one before is written; yields blocks once they are written."""
    group = writer.group(model.path)
    constant = torch.from_numpy(np.asarray(array_of(group, CONSTANT)[:]))
    new = partial(BlockBuffers, shape, encoder.model.device, constant, squares=SQUARES[0] in group)
    number = Counter(block.vectors for block in blocks)
    two = {kept: cycle([new(kept=kept) for _ in range(min(2, count))]) for kept, count in number.items()}
    with ThreadPoolExecutor(1, "write") as pool:
        writing: tuple[Block, Future[None]] | None = None
        last = {part[-1].index for part in transactions(blocks)}
        for block in blocks:
            buffers = next(two[block.vectors])
            encoder.encode(block, buffers)
            if writing:
                writing[1].result()
                yield writing[0]
            writing = block, pool.submit(_write, writer, model, block, buffers, commits=block.index in last)
        if writing:
            writing[1].result()
            yield writing[0]


def transactions(blocks: list[Block]) -> list[list[Block]]:
    """Blocks that share a commit: each of the first 128 is alone, then come every two, three ..."""
    parts: list[list[Block]] = [[]]
    for block in blocks:
        parts[-1].append(block)
        if len(parts[-1]) >= block.index // SHARE:
            parts.append([])
    return [part for part in parts if part]


def _write(writer: Writer, model: ModelGroup, block: Block, buffers: BlockBuffers, *, commits: bool) -> None:
    buffers.write(writer.group(model.path), block, model.block_hash(block))
    if commits:
        writer.commit(f"{model.key}: block {block.index}")


def complete(writer: Writer, model: ModelGroup, corpus: PlannedCorpus, *, views: list[str]) -> None:
    """Write the means over sentences and the size of the plan: from this commit on readers see the new sentences.

    Before it, nothing that readers use has changed, so that an ingest killed on the way is not half visible, not even
    if another model is published meanwhile.
    """
    group, stored = writer.group(model.path), corpus.stored
    blocks = len(corpus.blocks)
    counts = sum_of_blocks(group, "block_count", blocks)
    for name, values in means_of_blocks(group, blocks).items():
        array_of(group, name)[:] = values
    _record_counted(group, corpus)
    group.attrs.update(
        {
            "sentences": stored.sentences,
            "tokens": stored.tokens,
            "blocks": len(stored.blocks),
            "source_sentences": {source: int(count) for source, count in zip(SOURCES, counts, strict=True)},
            "views": views,
            "finished": datetime.now(UTC).isoformat(timespec="microseconds"),
        }
    )
    writer.commit(f"{model.key}: {corpus.sentences:,} sentences")


def _record_counted(group: zarr.Group, corpus: PlannedCorpus) -> None:
    """Write the sizes of the sentences with exact numbers, where these are more than the sentences with vectors."""
    sizes = (corpus.sentences, corpus.tokens, len(corpus.blocks))
    for name, size in zip(COUNTED, sizes, strict=True):
        if len(corpus.stored.blocks) < len(corpus.blocks):
            group.attrs[name] = size
        elif name in group.attrs:
            del group.attrs[name]


@dataclass(frozen=True)
class Loading:
    """Settings by which a worker loads the model. The worker downloads a model of the hub; a folder must exist on its machine."""

    settings: Settings
    device: str
    dtype: torch.dtype
    weights_sha256: str

    def load(self) -> Encoder:
        """The encoder that the driver would use."""
        checkpoint = settings_checkpoint(self.settings.model, self.settings.store)
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
            buffers.write(group, block, self.model.block_hash(block))
        finally:
            free.put(buffers)


@lru_cache(maxsize=1)
def _encoder(loading: Loading) -> Encoder:
    """The encoder of a worker, loaded once."""
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
