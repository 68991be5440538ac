"""Blocks that share a commit: the lists of blocks that commits write grow with the blocks, not with their square."""

from dataclasses import replace

import numpy as np

from ingest.encode.tensors import SHARE, transactions
from ingest.text.blocks import Block

NOTHING = Block(0, 8, *(np.zeros(0, np.int32),) * 3)


def blocks(first: int, stop: int) -> list[Block]:
    return [replace(NOTHING, index=index) for index in range(first, stop)]


def ends(several: list[Block]) -> list[int]:
    return [part[-1].index for part in transactions(several)]


def test_each_of_the_first_blocks_is_committed_alone() -> None:
    assert ends(blocks(0, 2 * SHARE)) == list(range(2 * SHARE))


def test_every_block_is_in_one_commit() -> None:
    parts = transactions(blocks(5, 1000))
    assert [block.index for part in parts for block in part] == list(range(5, 1000))


def test_a_commit_has_a_64th_part_of_the_blocks_at_most() -> None:
    parts = transactions(blocks(0, 5000))
    assert all(len(part) <= max(1, part[-1].index // SHARE) for part in parts)


def test_the_last_block_is_committed() -> None:
    assert ends(blocks(0, 1001))[-1] == 1000


def test_the_listed_blocks_of_all_commits_grow_with_the_blocks() -> None:
    listed = [sum(ends(blocks(0, count))) / count for count in (2_000, 8_000)]
    assert listed[1] < 1.5 * listed[0]


def test_nothing_is_committed_of_no_blocks() -> None:
    assert transactions([]) == []
