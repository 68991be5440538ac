"""Stage `pairs`: the strongest query-key pairs of every head over the whole corpus, within sentences.

Every block keeps its strongest pairs, so that growth computes new blocks only and the merger of all blocks is exact.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.encode.tensors import ModelGroup
from ingest.run.cluster import Cluster, in_turn
from ingest.run.progress import bar
from ingest.text.blocks import Block, PlannedCorpus, content_hash, make_batches
from store.bias import read_bias
from store.kernels.attention import Admitted, Pairs, admitted_pairs, merge_pairs, strongest_pairs
from store.process import one_thread
from store.repository.arrays import array_of, create_arrays, read_vectors
from store.repository.writer import Writable, Writer
from store.schema.model import PAIR_ARRAYS, PAIR_NUMBERS, PAIR_RANKS, ROLES

VERSION = "pairs/1"
#: Padded tokens whose logits are in memory at once, for each layer in progress: small enough for a core's cache.
BATCH_TOKENS = 2048
#: Layers computed at the same time.
STREAMS = 2


@dataclass(frozen=True)
class PairBatch:
    """Sentences of like length, and their admitted pairs: the same for every layer and head."""

    real: NDArray[np.bool_]
    #: Row in the block of every real token, in the order of `real`.
    rows: NDArray[np.int64]
    admitted: Admitted

    @property
    def padded_rows(self) -> NDArray[np.int64]:
        """Row in the block of every token (sentence, token), -1 for padding."""
        rows = np.full(self.real.shape, -1, np.int64)
        rows[self.real] = self.rows
        return rows


def update_pairs(writer: Writer, model: ModelGroup, corpus: PlannedCorpus, cluster: Cluster | None = None) -> bool:
    """Bring the pairs up to date; False if there was nothing to do.

    Each block is committed. The merger, which readers read, is written last and not committed: `complete` commits it with
    the size of the plan, so that readers see no pairs of sentences that they do not see. Nothing may be committed between.
    """
    group = writer.group(f"{model.path}/pairs")
    blocks = _pending(group, model, corpus)
    if not blocks and group.attrs.get("sentences") == corpus.sentences:
        return False
    _prepare(writer, model, corpus)
    done = corpus.tokens - sum(block.tokens for block in blocks)
    with bar("pairs", total=corpus.tokens, unit="tokens", done=done) as progress:
        for block, _ in in_turn(cluster, writer, partial(_keep_block, model), blocks):
            writer.commit(f"{model.key}: pairs block {block.index}")
            progress.update(block.tokens)
    _merge(writer, model, corpus)
    return True


def _pairs_hash(model: ModelGroup, block: Block) -> int:
    return content_hash({"version": VERSION, "ranks": PAIR_RANKS, "block": model.block_hash(block)})


def _pending(group: zarr.Group, model: ModelGroup, corpus: PlannedCorpus) -> list[Block]:
    done = np.asarray(array_of(group, "pairs_hash")[:]) if "pairs_hash" in group else np.zeros(0, np.uint64)
    return [
        block
        for block in corpus.blocks
        if block.index >= len(done) or int(done[block.index]) != _pairs_hash(model, block)
    ]


def _prepare(writer: Writer, model: ModelGroup, corpus: PlannedCorpus) -> None:
    layers, heads, rows, _ = array_of(writer.group(model.path), "query").shape
    group = writer.group(f"{model.path}/pairs")
    sizes = {"layer": layers, "head": heads, "rank": PAIR_RANKS, "task": rows // corpus.blocks[0].length}
    create_arrays(group, PAIR_ARRAYS, sizes)
    array_of(group, "layer")[:] = np.arange(layers)
    array_of(group, "head")[:] = np.arange(heads)
    writer.commit(f"room for pairs of {model.key}")


def _keep_block(model: ModelGroup, store: Writable, block: Block) -> None:
    group = store.group(f"{model.path}/pairs")
    pairs = _block_pairs(store.group(model.path), block)
    for name in PAIR_NUMBERS:
        array_of(group, f"block_{name}")[block.index] = np.stack([getattr(layer, name) for layer in pairs])
    array_of(group, "pairs_hash")[block.index] = np.uint64(_pairs_hash(model, block))


def _block_pairs(source: zarr.Group, block: Block) -> list[Pairs]:
    """Pairs (head, rank) of every layer. A product is too short for several cores to share, a layer is not."""
    batches = list(_pair_batches(block))
    with one_thread("blas"), ThreadPoolExecutor(STREAMS, "pairs") as pool:
        layers = range(array_of(source, "query").shape[0])
        return list(pool.map(lambda layer: _layer_pairs(source, layer, block, batches), layers))


def _pair_batches(block: Block) -> Iterator[PairBatch]:
    for batch in make_batches(block, tokens=BATCH_TOKENS):
        yield PairBatch(batch.real, batch.rows, admitted_pairs(batch.token_ids, batch.flags, batch.real))


def _layer_pairs(source: zarr.Group, layer: int, block: Block, batches: list[PairBatch]) -> Pairs:
    rows = slice(block.rows.start, block.rows.start + block.tokens)
    query, key = (read_vectors(source, role, layer, rows) for role in ROLES)
    bias = read_bias(source, layer)
    parts = [
        strongest_pairs(
            _padded(query, batch),
            _padded(key, batch),
            batch.padded_rows,
            batch.admitted,
            count=PAIR_RANKS,
            bias=bias,
        )
        for batch in batches
    ]
    pairs = merge_pairs(parts, block.token_ids, count=PAIR_RANKS)
    query_token, key_token = (np.where(row < 0, -1, row + rows.start) for row in (pairs.query_token, pairs.key_token))
    return pairs._replace(query_token=query_token, key_token=key_token)


def _padded(vectors: NDArray[np.float32], batch: PairBatch) -> NDArray[np.float32]:
    """Vectors with padding (head, sentence, token, channel), from (head, row, channel); padding is 0."""
    padded = np.zeros((len(vectors), *batch.real.shape, vectors.shape[-1]), np.float32)
    padded[:, batch.real] = vectors[:, batch.rows]
    return padded


def _merge(writer: Writer, model: ModelGroup, corpus: PlannedCorpus) -> None:
    group = writer.group(f"{model.path}/pairs")
    pieces = np.asarray(array_of(writer.group(f"corpus/{corpus.key}"), "token_id")[:])
    blocks = len(corpus.blocks)
    for layer in range(array_of(group, "layer").shape[0]):
        parts = {name: np.asarray(array_of(group, f"block_{name}")[:blocks, layer]) for name in PAIR_NUMBERS}
        merged = merge_pairs(
            [Pairs(**{name: part[block] for name, part in parts.items()}) for block in range(blocks)],
            pieces,
            count=PAIR_RANKS,
        )
        for name in PAIR_NUMBERS:
            array_of(group, name)[layer] = getattr(merged, name)
    group.attrs.update(
        {
            "sentences": corpus.sentences,
            "tokens": corpus.tokens,
            "version": VERSION,
            "left_out": "[CLS] and [SEP], and a token with itself",
        }
    )
