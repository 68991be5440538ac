"""Stage `relations`: how often each head links the words of each dependency label, beside a baseline and random weights."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import zarr
from numpy.typing import NDArray

from ingest.encode.hooked_model import HookedModel
from ingest.encode.tensors import ModelGroup
from ingest.run.checkpoint import Checkpoint
from ingest.run.parallel import side_by_side
from ingest.run.progress import bar
from ingest.run.settings import Limits
from ingest.text.blocks import Block, PlannedCorpus
from ingest.words.patterns import (
    FIELDS,
    BlockWords,
    WordBatch,
    batch_vectors,
    content_of_words,
    keep_strongest,
    random_blocks,
    randomize,
    read_words,
    word_batches,
)
from store.kernels.intervals import ShareReplicates, draw_counts
from store.kernels.relations import DIRECTIONS, StrongestWords, WordPairs, frequent_offset, halves, linked
from store.repository.arrays import array_of, create_arrays
from store.repository.writer import Writer
from store.schema.corpus import ALL, FEWEST_PAIRS, HALVES, RELATION_ARRAYS
from store.schema.model import BOUNDS
from store.words import Words

VERSION, RANDOM_VERSION = "relations/1", "random weights/1"
#: Arrays that are counted with random weights: (half, relation, ...).
RANDOM = "random_linked", "random_pairs"


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
        """The pairs within some words of whole sentences, with rows that count from the first of these words."""

        def part(pairs: WordPairs) -> WordPairs:
            inside = pairs.only((pairs.source >= rows.start) & (pairs.source < rows.stop))
            return inside._replace(source=inside.source - rows.start, target=inside.target - rows.start)

        return Relations({name: part(pairs) for name, pairs in self.pairs.items()}, self.reported)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Pairs (half, relation)."""
        return np.stack([self.halved(np.ones(len(pairs.source), np.int64), pairs) for pairs in self.pairs.values()], 1)

    def linked(self, strongest: StrongestWords) -> NDArray[np.int64]:
        """Pairs that a head links (half, relation, direction, ..., head), from the strongest words (..., head, word)."""
        return np.stack([self.halved(linked(strongest, pairs), pairs) for pairs in self.pairs.values()], axis=1)

    def halved(self, hits: NDArray[np.bool_ | np.int64], pairs: WordPairs) -> NDArray[np.int64]:
        """Sums of hits (..., pair) over the pairs of each half: (half, ...)."""
        reported = self.reported[pairs.sentence]
        return np.stack([hits[..., part].sum(axis=-1, dtype=np.int64) for part in (~reported, reported)])


def find_relations(
    writer: Writer,
    model: ModelGroup,
    corpus: PlannedCorpus,
    checkpoint: Checkpoint,
    device: torch.device,
    seed: int,
    limits: Limits,
) -> bool:
    """Bring the relations up to date; False if there was nothing to do, or if no word has a governor."""
    source = writer.group(f"corpus/{corpus.key}/words")
    group = writer.group(f"{model.path}/relations")
    identity = content_of_words(writer, model, corpus.blocks, version=VERSION, seed=seed)
    if group.attrs.get("relations_hash") == identity:
        return False
    words = read_words(writer, corpus)
    if not len(words.dependencies.source):
        return False
    relations = Relations.of(words, corpus.sentences)
    blocks = random_blocks(corpus.blocks, limits.random_tokens)
    first = content_of_words(writer, model, blocks, version=RANDOM_VERSION, seed=seed)
    random = _kept_random(group, first, list(relations.pairs))
    if random is None:
        hooked = HookedModel(checkpoint, device=device, dtype=torch.float32)
        random = _random_linked(hooked, source, blocks, relations, seed)
    counted = _counted(writer.group(f"{model.path}/words"), source, corpus, relations, seed)
    _write(group, relations, counted | random | _offsets(relations))
    group.attrs.update({"relations_hash": identity, "random_hash": first, "annotation": dict(source.attrs)["identity"]})
    writer.commit(f"{model.key}: relations")
    return True


def _counted(
    strongest: zarr.Group, words: zarr.Group, corpus: PlannedCorpus, relations: Relations, seed: int
) -> dict[str, NDArray[np.generic]]:
    """`linked`, `pairs` and `interval`, block by block."""
    layers, heads, _ = array_of(strongest, FIELDS[0]).shape
    replicates = [ShareReplicates((len(DIRECTIONS), layers, heads)) for _ in relations.pairs]
    total: NDArray[np.int64] | int = 0
    with bar("relations", total=corpus.tokens, unit="tokens") as progress:
        for block in corpus.blocks:
            rows = BlockWords.of(words, block).rows
            found = StrongestWords(*(np.asarray(array_of(strongest, name)[:, :, rows]) for name in FIELDS))
            part = relations.within(rows)
            total = total + part.linked(found)
            counts = draw_counts(seed, block.index, block.sentences)
            for replicate, pairs in zip(replicates, part.pairs.values(), strict=True):
                chosen = pairs.only(relations.reported[pairs.sentence])
                replicate.add(linked(found, chosen), chosen.sentence - block.first_sentence, counts)
            progress.update(block.tokens)
    intervals = np.stack([replicate.interval() for replicate in replicates], axis=1)
    return {"linked": np.asarray(total), "pairs": relations.counts, "interval": intervals}


def _offsets(relations: Relations) -> dict[str, NDArray[np.generic]]:
    """The offset that most pairs of the first half have, and how many of each half have it."""
    every = relations.pairs.values()
    best = [frequent_offset(pairs.offsets[~relations.reported[pairs.sentence]]) for pairs in every]
    having = [relations.halved(pairs.offsets == offset, pairs) for pairs, offset in zip(every, best, strict=True)]
    return {"offset": np.array(best, np.int16), "offset_linked": np.stack(having, axis=1)}


def _kept_random(group: zarr.Group, identity: str, relations: list[str]) -> dict[str, NDArray[np.generic]] | None:
    """`random_linked` and `random_pairs` of these relations, if they were counted on the same blocks: a corpus grows at its end."""
    if group.attrs.get("random_hash") != identity:
        return None
    place = {name: index for index, name in enumerate(np.asarray(array_of(group, "relation")[:]).tolist())}
    if not place.keys() >= set(relations):
        return None
    chosen = [place[name] for name in relations]
    return {name: np.asarray(array_of(group, name)[:])[:, chosen] for name in RANDOM}


def _random_linked(
    model: HookedModel, words: zarr.Group, blocks: Sequence[Block], relations: Relations, seed: int
) -> dict[str, NDArray[np.generic]]:
    """`random_linked` and `random_pairs`, on the first blocks of the corpus."""
    randomize(model.parts.encoder, model.config.initializer_range, seed)
    total: NDArray[np.int64] | int = 0
    pairs: NDArray[np.int64] | int = 0
    with bar("random model", total=sum(block.tokens for block in blocks), unit="tokens") as progress:
        for block in blocks:
            of_block = BlockWords.of(words, block)
            part = relations.within(of_block.rows)
            total, pairs = total + part.linked(_strongest(model, block, of_block)), pairs + part.counts
            progress.update(block.tokens)
    return {"random_linked": np.asarray(total), "random_pairs": np.asarray(pairs)}


def _strongest(model: HookedModel, block: Block, words: BlockWords) -> StrongestWords:
    """Strongest words (layer, head, word) of a block, from a run of the model: on a CPU each core runs a batch."""
    bias = model.bias
    found = np.full((len(FIELDS), model.layers, model.heads, len(words.tokens)), -1, np.int16)

    def keep(batch: WordBatch) -> None:
        for layer, vectors in enumerate(batch_vectors(model, block, bias, batch)):
            keep_strongest(found[:, layer], batch, vectors)

    side_by_side(keep, word_batches(block, words))
    return StrongestWords(*found)


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
