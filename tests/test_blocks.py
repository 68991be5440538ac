"""Blocks of the token axis and the sentences in them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.encode.tensors import ModelGroup
from ingest.text.blocks import Block, content_hash, pack, plan, short_key

LENGTH = 16
LENGTHS = st.lists(st.integers(1, LENGTH), min_size=1, max_size=60).map(lambda sizes: np.array(sizes, np.int32))


def planned(lengths: np.ndarray) -> list[Block]:
    tokens = np.arange(int(lengths.sum()), dtype=np.int32)
    return plan(lengths, tokens, (tokens % 64).astype(np.uint8), length=LENGTH)


def test_sentences_are_packed_without_crossing_a_block() -> None:
    assert pack(np.array([6, 6, 6, 10, 16, 1], np.int32), length=16).tolist() == [0, 6, 16, 22, 32, 48]


@given(lengths=LENGTHS)
def test_no_sentence_crosses_a_block(lengths: np.ndarray) -> None:
    starts = pack(lengths, length=LENGTH)
    np.testing.assert_array_equal(starts // LENGTH, (starts + lengths - 1) // LENGTH)


@given(lengths=LENGTHS)
def test_sentences_stand_in_order_and_do_not_overlap(lengths: np.ndarray) -> None:
    starts = pack(lengths, length=LENGTH)
    assert starts[0] == 0
    assert (starts[1:] >= (starts + lengths)[:-1]).all()


@given(lengths=LENGTHS)
def test_a_block_is_left_only_by_a_sentence_that_does_not_fit(lengths: np.ndarray) -> None:
    starts = pack(lengths, length=LENGTH)
    ends = (starts + lengths)[:-1]
    gaps = starts[1:] - ends
    assert (gaps[gaps > 0] < lengths[1:][gaps > 0]).all()


@given(lengths=LENGTHS, more=LENGTHS)
def test_more_sentences_never_move_those_before_them(lengths: np.ndarray, more: np.ndarray) -> None:
    both = np.concatenate([lengths, more])
    np.testing.assert_array_equal(pack(both, length=LENGTH)[: len(lengths)], pack(lengths, length=LENGTH))


@given(lengths=LENGTHS)
def test_blocks_hold_every_sentence_and_token_once_and_in_order(lengths: np.ndarray) -> None:
    blocks = planned(lengths)
    np.testing.assert_array_equal(np.concatenate([block.lengths for block in blocks]), lengths)
    np.testing.assert_array_equal(np.concatenate([block.token_ids for block in blocks]), np.arange(lengths.sum()))


@given(lengths=LENGTHS)
def test_blocks_stand_where_the_packing_says(lengths: np.ndarray) -> None:
    starts = pack(lengths, length=LENGTH)
    blocks = planned(lengths)
    first = np.cumsum([0, *(block.sentences for block in blocks)])
    for start, block in zip(first, blocks, strict=False):
        here = starts[start : start + block.sentences]
        np.testing.assert_array_equal(here, block.rows.start + np.cumsum(block.lengths) - block.lengths)


@given(lengths=LENGTHS)
def test_a_block_holds_no_more_than_its_length(lengths: np.ndarray) -> None:
    blocks = planned(lengths)
    assert [block.index for block in blocks] == list(range(len(blocks)))
    assert all(0 < block.tokens == block.lengths.sum() <= LENGTH for block in blocks)


@given(lengths=LENGTHS)
def test_flags_travel_with_their_tokens(lengths: np.ndarray) -> None:
    for block in planned(lengths):
        np.testing.assert_array_equal(block.token_flags, block.token_ids % 64)


@pytest.mark.parametrize(
    "changed",
    [
        ({"a": 2}, np.arange(3)),
        ({"b": 1}, np.arange(3)),
        ({"a": 1}, np.array([0, 1, 3])),
        ({"a": 1}, np.arange(3, dtype=np.int32)),
    ],
)
def test_content_hash_changes_with_each_of_its_inputs(changed: tuple[dict[str, int], np.ndarray]) -> None:
    identity, array = changed
    assert content_hash(identity, array) != content_hash({"a": 1}, np.arange(3))


def test_content_hash_does_not_depend_on_the_order_of_the_identity_or_the_memory() -> None:
    array = np.arange(12).reshape(3, 4)
    assert content_hash({"a": 1, "b": 2}, array) == content_hash({"b": 2, "a": 1}, np.asfortranarray(array))


def test_content_hash_has_a_value_that_never_changes() -> None:
    """Stores on disk hold such hashes. The value is blake2b-64 of '{"a": 1}' and the array's bytes, by hashlib alone."""
    assert content_hash({"a": 1}, np.arange(3, dtype=np.int32)) == 0xC78E7E128642701F


@given(name=st.text(max_size=80), number=st.integers())
def test_key_of_any_name_can_be_a_folder(name: str, number: int) -> None:
    key = short_key(name, {"number": number})
    assert "/" not in key
    assert 10 <= len(key) <= 69
    assert not key.startswith(".")


def test_keys_of_one_name_differ_where_the_identity_does() -> None:
    assert short_key("org/model", {"seed": 0}) != short_key("org/model", {"seed": 1})
    assert short_key("org/model", {"seed": 0}).startswith("org-model-")


def test_a_block_is_computed_again_when_anything_its_numbers_depend_on_changes() -> None:
    lengths, tokens, flags = np.array([2, 3], np.int32), np.arange(5, dtype=np.int32), np.zeros(5, np.uint8)
    hashes = {
        ModelGroup("key", {"weights": weights}).block_hash(Block(index, LENGTH, sizes, ids, flags))
        for weights in "ab"
        for sizes in (lengths, lengths[::-1])
        for ids in (tokens, tokens + 1)
        for index in (0, 1)
    }
    assert len(hashes) == 8, "all but the index of the block"
