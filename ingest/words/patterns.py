"""Attention between words: batches of sentences with their words, and their queries and keys, stored or of a run of the model.

Stage `attention between words` finds for every head the word that each word attends to most, and the one that attends most
to it. It is recomputed from the stored queries and keys, block by block, and runs no model.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import zarr
from numpy.typing import NDArray
from torch import nn

from ingest.encode.hooked_model import HookedModel
from ingest.encode.tensors import ModelGroup
from ingest.run.cluster import Cluster, in_turn
from ingest.run.progress import bar
from ingest.text.blocks import Block, PlannedCorpus, content_hash, group_by_length
from store.bias import read_bias
from store.kernels.attention import attention_pattern
from store.kernels.bias import AttentionBias
from store.kernels.relations import StrongestWords, strongest_words, word_pattern, word_tokens
from store.process import one_thread
from store.repository.arrays import Groups, array_of, create_arrays, read_vectors
from store.repository.writer import Writable, Writer
from store.schema.corpus import STRONGEST_ARRAYS
from store.schema.model import ROLES
from store.words import Words

#: Padded tokens whose patterns are in memory at once, for each layer in progress.
BATCH_TOKENS = 2048


@dataclass(frozen=True)
class BlockWords:
    """Words of the sentences of a block.

    Attributes
    ----------
    rows
        Words of the block on the word axis.
    size, tokens
        Words of each sentence (sentence,), and first token and the one after the last of each word (word, 2).
    """

    rows: slice
    size: NDArray[np.int32]
    tokens: NDArray[np.int16]

    @classmethod
    def of(cls, words: zarr.Group, block: Block) -> "BlockWords":
        """The words of a block from the group of the corpus."""
        sentences = slice(block.first_sentence, block.first_sentence + block.sentences)
        start, size = (np.asarray(array_of(words, name)[sentences]) for name in ("word_start", "word_size"))
        rows = slice(int(start[0]), int(start[-1]) + int(size[-1]))
        tokens = [np.asarray(array_of(words, name)[rows]) for name in ("token_start", "token_stop")]
        return cls(rows, size, np.stack(tokens, axis=-1))


@dataclass(frozen=True)
class WordBatch:
    """Sentences of like length, by their index in the block.

    Masks of the tokens and words that are no padding, their rows in the block, and a mask of the tokens that a word covers.
    """

    sentences: NDArray[np.intp]
    real_tokens: NDArray[np.bool_]
    token_rows: NDArray[np.int64]
    real_words: NDArray[np.bool_]
    word_rows: NDArray[np.int64]
    covers: NDArray[np.bool_]


def word_batches(block: Block, words: BlockWords) -> list[WordBatch]:
    """Sentences of a block in batches of like length."""
    first_token = np.concatenate([[0], np.cumsum(block.lengths)])
    first_word = np.concatenate([[0], np.cumsum(words.size)])
    batches = []
    for group in group_by_length(block.lengths, tokens=BATCH_TOKENS):
        real_tokens, token_rows = _padded(first_token[group], block.lengths[group])
        real_words, word_rows = _padded(first_word[group], words.size[group])
        bounds = np.zeros((*real_words.shape, 2), np.int16)
        bounds[real_words] = words.tokens[word_rows]
        covers = word_tokens(bounds[..., 0], bounds[..., 1], real_tokens.shape[1])
        batches.append(WordBatch(group, real_tokens, token_rows, real_words, word_rows, covers))
    return batches


def _padded(first: NDArray[np.int64], sizes: NDArray[np.int32]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Mask of the places (sentence, longest) that are no padding, and the row of each of these."""
    real = np.arange(int(sizes.max(initial=0))) < sizes[:, None]
    return real, (first[:, None] + np.arange(real.shape[1]))[real]


def of_batch(vectors: NDArray[np.float32], batch: WordBatch) -> NDArray[np.float32]:
    """Vectors of a batch (head, sentence, token, channel) from (head, row, channel); padding is 0."""
    padded = np.zeros((len(vectors), *batch.real_tokens.shape, vectors.shape[-1]), np.float32)
    padded[:, batch.real_tokens] = vectors[:, batch.token_rows]
    return padded


@dataclass(frozen=True)
class BatchVectors:
    """Queries and keys of a batch in a layer (head, sentence, token, channel), finite in the padding too, and the bias of logits."""

    query: NDArray[np.float32]
    key: NDArray[np.float32]
    bias: AttentionBias | None

    def between(self, batch: WordBatch, covers: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Attention between words, see `store.kernels.relations.word_pattern`."""
        return word_pattern(attention_pattern(self.query, self.key, batch.real_tokens, bias=self.bias), covers)


#: Gives the vectors of a batch, layer by layer.
ReadVectors = Callable[[WordBatch], Iterator[BatchVectors]]


def stored_vectors(source: zarr.Group, block: Block) -> ReadVectors:
    """The stored queries and keys of a block."""
    bias = read_bias(source)
    rows = slice(block.rows.start, block.rows.start + block.tokens)
    layers = array_of(source, "query").shape[0]
    vectors = [[read_vectors(source, role, layer, rows) for role in ROLES] for layer in range(layers)]

    def read(batch: WordBatch) -> Iterator[BatchVectors]:
        for layer, (query, key) in enumerate(vectors):
            yield BatchVectors(of_batch(query, batch), of_batch(key, batch), bias and bias.part(layer))

    return read


def model_vectors(model: HookedModel, block: Block) -> ReadVectors:
    """Queries and keys of a block from a run of the model."""
    return partial(batch_vectors, model, block, model.bias)


def batch_vectors(
    model: HookedModel, block: Block, bias: AttentionBias | None, batch: WordBatch
) -> Iterator[BatchVectors]:
    """Vectors of a batch in every layer in turn, from one run of the model."""
    token_ids = np.zeros(batch.real_tokens.shape, np.int64)
    token_ids[batch.real_tokens] = block.token_ids[batch.token_rows]
    real = torch.from_numpy(batch.real_tokens)
    capture = model.run(torch.from_numpy(token_ids).to(model.device), real.to(model.device))
    for layer, captured in enumerate(zip(*(getattr(capture, role) for role in ROLES), strict=True)):
        query, key = (each.float().permute(2, 0, 1, 3).cpu().numpy() for each in captured)
        yield BatchVectors(query, key, bias and bias.part(layer))


def randomize(encoder: nn.Module, spread: float, seed: int) -> None:
    """Draw the weights of the layers as before training; the embeddings, which are no part of them, stay (Clark 2019, section 5)."""
    generator = torch.Generator().manual_seed(seed)
    for module in encoder.modules():
        for name, parameter in module.named_parameters(recurse=False):
            if parameter.ndim == 1:  # of a norm, or a bias
                parameter.data.fill_(1 if name == "weight" else 0)
            elif not isinstance(module, nn.Embedding):  # of a linear layer, of whatever class
                parameter.data.copy_(torch.empty(parameter.shape).normal_(0, spread, generator=generator))


def random_blocks(blocks: Sequence[Block], most: int) -> list[Block]:
    """First blocks of the corpus that hold `most` tokens together."""
    before = np.cumsum([0, *(block.tokens for block in blocks)])[:-1]
    return [block for block, tokens in zip(blocks, before, strict=True) if tokens < most]


def sentence_patterns(
    blocks: Sequence[Block], words: zarr.Group, wanted: Container[int], read: Callable[[Block], ReadVectors]
) -> Iterator[tuple[int, int, NDArray[np.float32]]]:
    """Attention between the words of some sentences: index of the sentence, layer, (head, query_word, key_word)."""
    with bar("antecedents", total=sum(block.tokens for block in blocks), unit="tokens") as progress:
        for block in blocks:
            vectors = read(block)
            for batch in word_batches(block, BlockWords.of(words, block)):
                numbers = block.first_sentence + batch.sentences
                chosen = [place for place, number in enumerate(numbers) if int(number) in wanted]
                for layer, of_layer in enumerate(vectors(batch) if chosen else ()):
                    pattern = of_layer.between(batch, batch.covers)
                    for place in chosen:
                        size = int(batch.real_words[place].sum())
                        yield int(numbers[place]), layer, pattern[:, place, :size, :size]
                progress.update(int(block.lengths[batch.sentences].sum()))


VERSION = "strongest words/1"
#: Layers computed at the same time.
STREAMS = 2
FIELDS = StrongestWords._fields


def find_strongest_words(
    writer: Writer, model: ModelGroup, corpus: PlannedCorpus, cluster: Cluster | None = None
) -> bool:
    """Bring the strongest words up to date, a commit for each block; False if there was nothing to do."""
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
    """Hash of everything that a stage which counts words of the first blocks depends on."""
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
    """Write and commit the words of a block; no worker writes them, as the words of two blocks share chunks."""
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
    bias = read_bias(source, layer)
    found = np.full((len(FIELDS), len(query), len(words.tokens)), -1, np.int16)
    for batch in batches:
        vectors = BatchVectors(of_batch(query, batch), of_batch(key, batch), bias)
        keep_strongest(found, batch, vectors)
    return found


def keep_strongest(found: NDArray[np.int16], batch: WordBatch, vectors: BatchVectors) -> None:
    """Write the strongest words of a batch into `FIELDS` of its block (field, head, word)."""
    pattern = vectors.between(batch, batch.covers)
    for field, values in zip(found, strongest_words(pattern, batch.real_words), strict=True):
        field[:, batch.word_rows] = values[:, batch.real_words]
