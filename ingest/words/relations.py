"""Stage `relations`: how often each head links the words of each dependency label, beside a baseline and random weights."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import zarr
from numpy.typing import NDArray
from torch import nn

from ingest.encode.bert import Bert
from ingest.encode.tensors import ModelGroup
from ingest.run.checkpoint import Checkpoint
from ingest.run.progress import bar
from ingest.text.blocks import Block, content_hash
from ingest.text.corpus import PlannedCorpus
from ingest.words.strongest import FIELDS, BlockWords, WordBatch, keep_strongest, word_batches
from store.groups import Groups
from store.kernels.bootstrap import PERCENTILES, REPLICATES, draw_counts
from store.kernels.relations import DIRECTIONS, OFFSETS, WordPairs, halves, linked
from store.kernels.words import StrongestWords
from store.repository.arrays import array_of, create_arrays
from store.repository.writer import Writer
from store.schema.model import BOUNDS, ROLES
from store.schema.relations import ALL, FEWEST_PAIRS, HALVES, RELATION_ARRAYS
from store.words import Words

VERSION = "relations/1"
#: Tokens of the blocks that random weights are run on.
RANDOM_TOKENS = 20_000


@dataclass(frozen=True)
class Relations:
    """The relations of a corpus: their pairs by name, `ALL` first, and the half of every sentence."""

    pairs: dict[str, WordPairs]
    reported: NDArray[np.bool_]

    @classmethod
    def of(cls, words: Words, sentences: int) -> "Relations":
        """Relations with enough pairs."""
        named = {name: pairs for name, pairs in words.relations.items() if len(pairs.source) >= FEWEST_PAIRS}
        return cls({ALL: words.dependencies} | named, halves(sentences))

    def within(self, rows: slice) -> "Relations":
        """The pairs in some words, whose sentences are whole, with rows that count from the first of them."""

        def part(pairs: WordPairs) -> WordPairs:
            inside = pairs.only((pairs.source >= rows.start) & (pairs.source < rows.stop))
            return inside._replace(source=inside.source - rows.start, target=inside.target - rows.start)

        return Relations({name: part(pairs) for name, pairs in self.pairs.items()}, self.reported)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Pairs (half, relation)."""
        return np.stack([self._halved(np.ones(len(pairs.source), np.int64), pairs) for pairs in self.pairs.values()], 1)

    def linked(self, strongest: StrongestWords) -> NDArray[np.int64]:
        """Pairs that a head links (half, relation, direction, ..., head), from the strongest words (..., head, word)."""
        return np.stack([self._halved(linked(strongest, pairs), pairs) for pairs in self.pairs.values()], axis=1)

    def _halved(self, hits: NDArray[np.bool_ | np.int64], pairs: WordPairs) -> NDArray[np.int64]:
        reported = self.reported[pairs.sentence]
        return np.stack([hits[..., part].sum(axis=-1, dtype=np.int64) for part in (~reported, reported)])


@dataclass
class Replicates:
    """Sums over the pairs of the second half with the counts of their sentences in each replicate; blocks are added."""

    linked: NDArray[np.float64]
    pairs: NDArray[np.float64]

    @classmethod
    def empty(cls, relations: int, layers: int, heads: int) -> "Replicates":
        """No sentence yet."""
        shape = (relations, len(DIRECTIONS), layers, heads, REPLICATES)
        return cls(np.zeros(shape), np.zeros((relations, REPLICATES)))

    def add(self, relations: Relations, strongest: StrongestWords, counts: NDArray[np.float32], first: int) -> None:
        """Add a block whose sentences from `first` on have these counts (sentence, replicate)."""
        for number, every in enumerate(relations.pairs.values()):
            pairs = every.only(relations.reported[every.sentence])
            drawn = counts[pairs.sentence - first]
            self.linked[number] += linked(strongest, pairs).astype(np.float32) @ drawn
            self.pairs[number] += drawn.sum(axis=0)

    def interval(self) -> NDArray[np.float64]:
        """95 % intervals of the accuracy (bound, relation, direction, layer, head); NaN for a relation without pairs."""
        bounds = np.full((len(PERCENTILES), *self.linked.shape[:-1]), np.nan)
        for number, (sums, pairs) in enumerate(zip(self.linked, self.pairs, strict=True)):
            drawn = pairs > 0
            if drawn.any():
                bounds[:, number] = np.percentile(sums[..., drawn] / pairs[drawn], PERCENTILES, axis=-1)
        return bounds


def find_relations(
    writer: Writer, model: ModelGroup, corpus: PlannedCorpus, checkpoint: Checkpoint, device: torch.device, seed: int
) -> bool:
    """Bring the relations up to date; False if there was nothing to do, or if no word has a governor."""
    source = writer.group(f"corpus/{corpus.key}/words")
    group = writer.group(f"{model.path}/relations")
    identity = _identity(writer, model, corpus, seed)
    if group.attrs.get("relations_hash") == identity:
        return False
    texts = np.asarray(array_of(writer.group(f"corpus/{corpus.key}"), "text")[: corpus.sentences])
    words = Words(Groups(writer.committed).open(source.path), texts)
    relations = Relations.of(words, corpus.sentences)
    if not len(words.dependencies.source):
        return False
    random = _random_linked(Bert(checkpoint, device=device, dtype=torch.float32), source, corpus, relations, seed)
    counted = _counted(writer.group(f"{model.path}/words"), source, corpus, relations, seed)
    _write(group, relations, counted | random | _offsets(relations))
    group.attrs.update({"relations_hash": identity, "annotation": dict(source.attrs)["identity"]})
    writer.commit(f"{model.key}: relations")
    return True


def _identity(writer: Writer, model: ModelGroup, corpus: PlannedCorpus, seed: int) -> str:
    hashes = np.asarray(array_of(writer.group(f"{model.path}/words"), "words_hash")[: len(corpus.blocks)])
    return f"{content_hash({'version': VERSION, 'seed': seed, 'sentences': corpus.sentences}, hashes):016x}"


def _counted(
    strongest: zarr.Group, words: zarr.Group, corpus: PlannedCorpus, relations: Relations, seed: int
) -> dict[str, NDArray[np.generic]]:
    """`linked`, `pairs` and `interval`, block by block."""
    layers, heads, _ = array_of(strongest, FIELDS[0]).shape
    replicates = Replicates.empty(len(relations.pairs), layers, heads)
    total: NDArray[np.int64] | int = 0
    with bar("relations", total=corpus.tokens, unit="tokens") as progress:
        for block in corpus.blocks:
            rows = BlockWords.of(words, block).rows
            found = StrongestWords(*(np.asarray(array_of(strongest, name)[:, :, rows]) for name in FIELDS))
            part = relations.within(rows)
            total = total + part.linked(found)
            counts = draw_counts(seed, block.index, block.sentences).astype(np.float32)
            replicates.add(part, found, counts, block.first_sentence)
            progress.update(block.tokens)
    return {"linked": np.asarray(total), "pairs": relations.counts, "interval": replicates.interval()}


def _offsets(relations: Relations) -> dict[str, NDArray[np.generic]]:
    """The offset that most pairs of the first half have, and how many of each half have it."""
    best: list[int] = []
    having: list[NDArray[np.int64]] = []
    for pairs in relations.pairs.values():
        offsets = pairs.target_word.astype(np.int64) - pairs.source_word
        hits = np.stack([relations._halved(offsets == offset, pairs) for offset in OFFSETS])
        best.append(int(hits[:, 0].argmax()))
        having.append(hits[best[-1]])
    return {"offset": np.array(OFFSETS, np.int16)[best], "offset_linked": np.stack(having, axis=1)}


def _random_linked(
    bert: Bert, words: zarr.Group, corpus: PlannedCorpus, relations: Relations, seed: int
) -> dict[str, NDArray[np.generic]]:
    """`random_linked` and `random_pairs`, on the first blocks of the corpus."""
    randomize(bert.model.encoder, bert.model.config.initializer_range, seed)
    total: NDArray[np.int64] | int = 0
    pairs: NDArray[np.int64] | int = 0
    with bar("random model", total=_random_tokens(corpus), unit="tokens") as progress:
        for block in _random_blocks(corpus):
            of_block = BlockWords.of(words, block)
            part = relations.within(of_block.rows)
            total, pairs = total + part.linked(_strongest(bert, block, of_block)), pairs + part.counts
            progress.update(block.tokens)
    return {"random_linked": np.asarray(total), "random_pairs": np.asarray(pairs)}


def _random_blocks(corpus: PlannedCorpus) -> list[Block]:
    """First blocks of the corpus with so many tokens together."""
    before = np.cumsum([0, *(block.tokens for block in corpus.blocks)])[:-1]
    return [block for block, tokens in zip(corpus.blocks, before, strict=True) if tokens < RANDOM_TOKENS]


def _random_tokens(corpus: PlannedCorpus) -> int:
    return sum(block.tokens for block in _random_blocks(corpus))


def randomize(encoder: nn.Module, spread: float, seed: int) -> None:
    """Draw the weights of the layers as before training; the embeddings, which are no part of them, stay (Clark 2019, section 5)."""
    generator = torch.Generator().manual_seed(seed)
    for module in encoder.modules():
        if isinstance(module, nn.Linear):
            weight = torch.empty(module.weight.shape).normal_(0, spread, generator=generator)
            module.weight.data.copy_(weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm):
            module.reset_parameters()


def _strongest(bert: Bert, block: Block, words: BlockWords) -> StrongestWords:
    """Strongest words (layer, head, word) of a block, from a run of the model."""
    found = np.full((len(FIELDS), bert.layers, bert.heads, len(words.tokens)), -1, np.int16)
    for batch in word_batches(block, words):
        for layer, vectors in enumerate(batch_vectors(bert, block, batch)):
            keep_strongest(found[:, layer], batch, *vectors)
    return StrongestWords(*found)


def batch_vectors(
    bert: Bert, block: Block, batch: WordBatch
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Queries and keys (head, sentence, token, channel) of every layer in turn, from one run of the model."""
    token_ids = np.zeros(batch.real_tokens.shape, np.int64)
    token_ids[batch.real_tokens] = block.token_ids[batch.token_rows]
    real = torch.from_numpy(batch.real_tokens)
    capture = bert.run(torch.from_numpy(token_ids).to(bert.device), real.to(bert.device))
    for captured in zip(*(getattr(capture, role) for role in ROLES), strict=True):
        query, key = (bert.split_heads(each).permute(2, 0, 1, 3).cpu().numpy() for each in captured)
        yield query, key


def _write(group: zarr.Group, relations: Relations, arrays: dict[str, NDArray[np.generic]]) -> None:
    layers, heads = arrays["linked"].shape[-2:]
    names = {
        "relation": list(relations.pairs),
        "direction": list(DIRECTIONS),
        "half": list(HALVES),
        "bound": list(BOUNDS),
        "layer": range(layers),
        "head": range(heads),
    }
    for name in RELATION_ARRAYS:
        if name in group:  # labels may have been added since
            del group[name]
    vars(group).pop("opened_arrays", None)
    create_arrays(group, RELATION_ARRAYS, {name: len(values) for name, values in names.items()})
    for name, values in (names | arrays).items():
        dtype = object if RELATION_ARRAYS[name].dtype == "str" else None
        array_of(group, name)[:] = np.array(values, dtype)
