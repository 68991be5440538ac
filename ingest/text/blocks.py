"""The plan of an ingest: which sentences are in which block of the token axis, and the hashes that tell what is up to date.

The sentences of a block run in batches of like length, so that little of a forward pass is padding.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Block:
    """The unit of work: whole sentences in `length` rows of the token axis, padding at the end.

    `lengths` and `token_ids` are those of its sentences, one after the other, from `first_sentence` of the corpus on.
    A block without `vectors` has only sums over its sentences in the store.
    """

    index: int
    length: int
    lengths: NDArray[np.int32]
    token_ids: NDArray[np.int32]
    token_flags: NDArray[np.uint8]
    first_sentence: int = 0
    vectors: bool = True

    @property
    def rows(self) -> slice:
        """Rows of the block on the token axis."""
        return slice(self.index * self.length, (self.index + 1) * self.length)

    @property
    def tokens(self) -> int:
        """Number of rows that hold a token."""
        return len(self.token_ids)

    @property
    def sentences(self) -> int:
        """Number of sentences in the block."""
        return len(self.lengths)


@dataclass(frozen=True)
class PlannedCorpus:
    """The part of a corpus group that an ingest works on.

    Attributes
    ----------
    token_rule
        Empty unless the corpus was first made by another rule: numbers from then are of other words and flags.
    """

    key: str
    blocks: list[Block]
    token_rule: str = ""

    @property
    def sentences(self) -> int:
        """Sentences of the plan."""
        return sum(block.sentences for block in self.blocks)

    @property
    def tokens(self) -> int:
        """Tokens of the plan, padding not counted."""
        return sum(block.tokens for block in self.blocks)

    def with_vectors_of(self, tokens: int | None, *, sentences: int) -> "PlannedCorpus":
        """The plan with vectors of the first blocks only, which hold `tokens` tokens (None for all) and `sentences` sentences."""
        before = np.cumsum([0, *(block.tokens for block in self.blocks)])
        blocks = [
            replace(block, vectors=tokens is None or first < tokens or block.first_sentence < sentences)
            for block, first in zip(self.blocks, before.tolist(), strict=False)
        ]
        return replace(self, blocks=blocks)

    @property
    def stored(self) -> "PlannedCorpus":
        """The plan of the first blocks, whose vectors are stored: pictures and all numbers per token are of these."""
        return replace(self, blocks=[block for block in self.blocks if block.vectors])


def pack(lengths: NDArray[np.int32], *, length: int) -> NDArray[np.int64]:
    """First row of every sentence on the token axis: in order, and no sentence crosses a block of `length` rows."""
    starts = np.empty(len(lengths), np.int64)
    row = 0
    for sentence, size in enumerate(lengths.tolist()):  # numbers of Python: twice as fast as those of numpy
        if row % length + size > length:
            row += -row % length
        starts[sentence] = row
        row += size
    return starts


def plan(
    lengths: NDArray[np.int32], token_ids: NDArray[np.int32], token_flags: NDArray[np.uint8], *, length: int
) -> list[Block]:
    """Blocks of a corpus from its sentences' lengths and its tokens without padding."""
    owner = pack(lengths, length=length) // length
    first = np.searchsorted(owner, np.arange(int(owner[-1]) + 2))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return [
        Block(
            index,
            length,
            lengths[start:stop],
            token_ids[offsets[start] : offsets[stop]],
            token_flags[offsets[start] : offsets[stop]],
            int(start),
        )
        for index, (start, stop) in enumerate(pairwise(first))
    ]


def content_hash(identity: Mapping[str, Any], *arrays: NDArray[Any]) -> int:
    """64 bits that change when anything the result depends on changes; never 0, which means 'not written'."""
    digest = hashlib.blake2b(json.dumps(identity, sort_keys=True).encode(), digest_size=8)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return int.from_bytes(digest.digest(), "big") or 1


def short_key(name: str, identity: Mapping[str, Any]) -> str:
    """A readable name of a group, different for every identity."""
    slug = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name).strip("-.")
    return f"{slug[:60] or 'unnamed'}-{content_hash(identity):016x}"[:-8]


@dataclass(frozen=True)
class Batch:
    """Sentences of a block, padded to the longest: arrays (sentence, token)."""

    token_ids: NDArray[np.int64]
    real: NDArray[np.bool_]
    flags: NDArray[np.uint8]
    #: Row in the block of every real token, in the order of `real`.
    rows: NDArray[np.int64]


def group_by_length(lengths: NDArray[np.int32], *, tokens: int) -> list[NDArray[np.intp]]:
    """Indices of sentences in groups whose padded size is at most `tokens`; a longer sentence stands alone."""
    groups: list[NDArray[np.intp]] = []
    order = np.argsort(lengths, kind="stable")
    start = 0
    for stop in range(1, len(order) + 1):
        if stop == len(order) or (stop + 1 - start) * int(lengths[order[stop]]) > tokens:
            groups.append(order[start:stop])
            start = stop
    return groups


def make_batches(block: Block, *, tokens: int) -> list[Batch]:
    """Batches that hold every sentence of the block once."""
    offsets = np.concatenate([[0], np.cumsum(block.lengths)])
    return [_pad(block, offsets, group) for group in group_by_length(block.lengths, tokens=tokens)]


def _pad(block: Block, offsets: NDArray[np.int64], group: NDArray[np.intp]) -> Batch:
    lengths = block.lengths[group]
    real = np.arange(int(lengths.max())) < lengths[:, None]
    rows = (offsets[group][:, None] + np.arange(real.shape[1]))[real]
    token_ids = np.zeros(real.shape, np.int64)
    flags = np.zeros(real.shape, np.uint8)
    token_ids[real] = block.token_ids[rows]
    flags[real] = block.token_flags[rows]
    return Batch(token_ids, real, flags, rows)
