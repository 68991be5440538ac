"""Stage `attention between words`: for every head the word that each word attends to most, and the one that attends most to it.

Recomputed from the stored queries and keys, block by block; runs no model.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import zarr
from numpy.typing import NDArray

from ingest.encode.tensors import ModelGroup
from ingest.run.cluster import Cluster, in_turn
from ingest.run.progress import bar
from ingest.text.blocks import Block, content_hash
from ingest.text.corpus import PlannedCorpus
from ingest.words.patterns import BlockWords, WordBatch, of_batch, word_batches
from store.groups import Groups
from store.kernels.attention import attention_pattern
from store.kernels.relations import StrongestWords, strongest_words, word_pattern
from store.process import one_thread
from store.repository.arrays import array_of, create_arrays, read_vectors
from store.repository.writer import Writable, Writer
from store.schema.corpus import STRONGEST_ARRAYS
from store.schema.model import ROLES
from store.words import Words

VERSION = "strongest words/1"
#: Layers computed at the same time.
STREAMS = 2
FIELDS = StrongestWords._fields


def find_strongest_words(
    writer: Writer, model: ModelGroup, corpus: PlannedCorpus, cluster: Cluster | None = None
) -> bool:
    """Bring them up to date, a commit for each block; False if there was nothing to do."""
    words = writer.group(f"corpus/{corpus.key}/words")
    path = f"{model.path}/words"
    pending = [block for block in corpus.blocks if _written(writer.group(path), block) != _hash(model, words, block)]
    if not pending and writer.group(path).attrs.get("sentences") == corpus.sentences:
        return False
    _prepare(writer, model, corpus)
    done = corpus.tokens - sum(block.tokens for block in pending)
    with bar("word pairs", total=corpus.tokens, unit="tokens", done=done) as progress:
        for block, strongest in in_turn(cluster, writer, partial(_block_words, model, corpus.key), pending):
            _keep_block(writer, model, words, block, strongest)
            progress.update(block.tokens)
    writer.group(path).attrs.update({"sentences": corpus.sentences, "annotation": dict(words.attrs)["identity"]})
    writer.commit(f"{model.key}: words of {corpus.sentences:,} sentences")
    return True


def _hash(model: ModelGroup, words: zarr.Group, block: Block) -> int:
    identity = {"version": VERSION, "block": model.block_hash(block), "words": dict(words.attrs)["identity"]}
    return content_hash(identity)


def read_words(writer: Writer, corpus: PlannedCorpus) -> Words:
    """The words of the plan, as they are committed."""
    texts = np.asarray(array_of(writer.group(f"corpus/{corpus.key}"), "text")[: corpus.sentences])
    groups = Groups(writer.committed)
    path = f"corpus/{corpus.key}"
    return Words(groups.open(f"{path}/words"), texts, groups.open_optional(f"{path}/mentions"))


def content_of_words(writer: Writer, model: ModelGroup, blocks: Sequence[Block], *, version: str, seed: int) -> str:
    """Hash of everything that a stage depends on which counts the words of the first blocks."""
    hashes = np.asarray(array_of(writer.group(f"{model.path}/words"), "words_hash")[: len(blocks)])
    sentences = sum(block.sentences for block in blocks)
    return f"{content_hash({'version': version, 'seed': seed, 'sentences': sentences}, hashes):016x}"


def _written(group: zarr.Group, block: Block) -> int:
    done = np.asarray(array_of(group, "words_hash")[:]) if "words_hash" in group else np.zeros(0, np.uint64)
    return int(done[block.index]) if block.index < len(done) else 0


def _prepare(writer: Writer, model: ModelGroup, corpus: PlannedCorpus) -> None:
    layers, heads, rows, _ = array_of(writer.group(model.path), "query").shape
    words = array_of(writer.group(f"corpus/{corpus.key}/words"), "token_start").shape[0]
    group = writer.group(f"{model.path}/words")
    create_arrays(
        group,
        STRONGEST_ARRAYS,
        {"layer": layers, "head": heads, "word": words, "task": rows // corpus.blocks[0].length},
    )
    array_of(group, "layer")[:] = np.arange(layers)
    array_of(group, "head")[:] = np.arange(heads)
    if writer.changed:
        writer.commit(f"room for words of {model.key}")


def _keep_block(
    writer: Writer, model: ModelGroup, words: zarr.Group, block: Block, strongest: NDArray[np.int16]
) -> None:
    """Written here: the words of two blocks share chunks."""
    group = writer.group(f"{model.path}/words")
    of_block = BlockWords.of(words, block)
    for name, values in zip(FIELDS, strongest, strict=True):
        array_of(group, name)[:, :, of_block.rows] = values
    array_of(group, "words_hash")[block.index] = np.uint64(_hash(model, words, block))
    writer.commit(f"{model.key}: words of block {block.index}")


def _block_words(model: ModelGroup, corpus: str, store: Writable, block: Block) -> NDArray[np.int16]:
    """`FIELDS` of the block: (field, layer, head, word)."""
    source, words = store.group(model.path), BlockWords.of(store.group(f"corpus/{corpus}/words"), block)
    batches = word_batches(block, words)
    with one_thread("blas"), ThreadPoolExecutor(STREAMS, "words") as pool:
        layers = range(array_of(source, "query").shape[0])
        of_layers = list(pool.map(lambda layer: _layer_words(source, layer, block, words, batches), layers))
    return np.stack(of_layers, axis=1)


def _layer_words(
    source: zarr.Group, layer: int, block: Block, words: BlockWords, batches: list[WordBatch]
) -> NDArray[np.int16]:
    """`FIELDS` of one layer: (field, head, word)."""
    rows = slice(block.rows.start, block.rows.start + block.tokens)
    query, key = (read_vectors(source, role, layer, rows) for role in ROLES)
    found = np.full((len(FIELDS), len(query), len(words.tokens)), -1, np.int16)
    for batch in batches:
        keep_strongest(found, batch, *(of_batch(each, batch) for each in (query, key)))
    return found


def keep_strongest(
    found: NDArray[np.int16], batch: WordBatch, query: NDArray[np.float32], key: NDArray[np.float32]
) -> None:
    """Write the strongest words of a batch into `FIELDS` of its block (field, head, word).

    Queries and keys are (head, sentence, token, channel), finite in the padding too.
    """
    pattern = word_pattern(attention_pattern(query, key, batch.real_tokens), batch.covers)
    for field, values in zip(found, strongest_words(pattern, batch.real_words), strict=True):
        field[:, batch.word_rows] = values[:, batch.real_words]
