"""Batches: sentences of similar length in one forward pass."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ingest.encode.encoder import BATCH_TOKENS, default_batch
from ingest.text.blocks import Block, group_by_length, make_batches
from store.schema import BLOCK

LENGTHS = st.lists(st.integers(1, 30), min_size=1, max_size=40).map(lambda sizes: np.array(sizes, np.int32))
TOKENS = st.integers(1, 100)


def block_of(lengths: np.ndarray) -> Block:
    tokens = np.arange(1, int(lengths.sum()) + 1, dtype=np.int32)
    return Block(3, 2000, lengths, tokens, (tokens % 7).astype(np.uint8))


def test_sentences_of_like_length_stand_together() -> None:
    groups = group_by_length(np.array([3, 9, 3, 8], np.int32), tokens=18)
    assert [group.tolist() for group in groups] == [[0, 2], [3, 1]]


@given(lengths=LENGTHS, tokens=TOKENS)
def test_every_sentence_is_in_one_group(lengths: np.ndarray, tokens: int) -> None:
    groups = group_by_length(lengths, tokens=tokens)
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(lengths)))


@given(lengths=LENGTHS, tokens=TOKENS)
def test_a_padded_group_is_within_the_tokens_or_one_sentence(lengths: np.ndarray, tokens: int) -> None:
    for group in group_by_length(lengths, tokens=tokens):
        assert len(group) == 1 or len(group) * lengths[group].max() <= tokens


@given(lengths=LENGTHS, tokens=TOKENS)
def test_a_group_ends_only_where_the_next_sentence_would_not_fit(lengths: np.ndarray, tokens: int) -> None:
    for group, after in pairwise(group_by_length(lengths, tokens=tokens)):
        assert (len(group) + 1) * lengths[after[0]] > tokens


@given(lengths=LENGTHS, tokens=TOKENS)
def test_a_batch_holds_the_tokens_of_its_sentences_and_zeros(lengths: np.ndarray, tokens: int) -> None:
    block = block_of(lengths)
    for batch in make_batches(block, tokens=tokens):
        np.testing.assert_array_equal(batch.token_ids[batch.real], block.token_ids[batch.rows])
        np.testing.assert_array_equal(batch.flags[batch.real], block.token_flags[batch.rows])
        assert not batch.token_ids[~batch.real].any()


@given(lengths=LENGTHS, tokens=TOKENS)
def test_rows_of_the_batches_are_every_token_of_the_block_once(lengths: np.ndarray, tokens: int) -> None:
    rows = np.concatenate([batch.rows for batch in make_batches(block_of(lengths), tokens=tokens)])
    assert sorted(rows.tolist()) == list(range(int(lengths.sum())))


@given(lengths=LENGTHS, tokens=TOKENS)
def test_real_tokens_of_a_batch_stand_at_the_left(lengths: np.ndarray, tokens: int) -> None:
    for batch in make_batches(block_of(lengths), tokens=tokens):
        assert (np.diff(batch.real.astype(int), axis=1) <= 0).all()
        assert batch.real[:, 0].all()
        assert batch.real[:, -1].any()


@given(st.integers(3, 4096), st.sampled_from(["cuda", "mps"]))
def test_patterns_of_a_batch_take_no_more_memory_than_those_of_the_usual_length(max_length: int, device: str) -> None:
    tokens = default_batch(device, max_length=max_length)
    assert tokens * max_length <= BATCH_TOKENS[device] * 128


@given(st.integers(3, 128), st.sampled_from(sorted(BATCH_TOKENS)))
def test_a_batch_of_sentences_of_the_usual_length_or_less_is_as_large_as_can_be(max_length: int, device: str) -> None:
    assert default_batch(device, max_length=max_length) == min(BATCH_TOKENS[device], 2 * BLOCK)
