"""Numbers that models add to their logits: by hand, by blocks of queries, in the store, and where keys are not seen.

For the keys that a query sees, the pairs of a sentence are written out and compared.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import zarr
from hypothesis import given
from hypothesis import strategies as st

from ingest.projections.attention_loss import in_sentence
from store.bias import read_bias, write_bias
from store.kernels.attention import admitted_pairs, attention_pattern, strongest_pairs
from store.kernels.bias import EVERY_KEY, AttentionBias, LayerBias, Mask, masks_of
from store.kernels.head_tables import TableSums, TokenRows, VarianceShares, logit_parts, offset_logits

masks = st.builds(Mask, st.booleans(), st.none() | st.integers(0, 6))
RANDOM = np.random.default_rng(5)
#: Distances up to 3 in five buckets.
BUCKETS = np.array([0, 0, 1, 2, 3, 4, 4])


@given(masks, st.integers(1, 9))
def test_a_query_sees_the_keys_within_its_window_and_before_it(mask: Mask, tokens: int) -> None:
    expected = [
        [(mask.window is None or abs(key - query) <= mask.window) and not (mask.causal and key > query)]
        for query in range(tokens)
        for key in range(tokens)
    ]
    np.testing.assert_array_equal(mask.pairs(tokens), np.reshape(expected, (tokens, tokens)))


@given(masks, st.integers(1, 9))
def test_seen_keys_are_as_many_as_there_are_pairs(mask: Mask, tokens: int) -> None:
    np.testing.assert_array_equal(mask.seen_keys(tokens), mask.pairs(tokens).sum(axis=1))


@given(masks, st.integers(1, 9))
def test_a_window_of_short_sentences_hides_what_it_hid(mask: Mask, tokens: int) -> None:
    within = mask.within(tokens)
    np.testing.assert_array_equal(within.pairs(tokens), mask.pairs(tokens))
    assert within.window is None or not within.pairs(tokens).all()


@pytest.mark.parametrize(("mask", "hides"), [(EVERY_KEY, False), (Mask(causal=True), True), (Mask(window=9), True)])
def test_a_mask_that_hides_a_key_of_some_sentence_hides(mask: Mask, hides: bool) -> None:
    assert mask.hides is hides


def test_every_key_is_seen_where_nothing_is_added_to_logits() -> None:
    near = Mask(window=1)
    assert masks_of(None, 2) == (EVERY_KEY, EVERY_KEY)
    assert masks_of(AttentionBias([LayerBias(), LayerBias(near)]), 2) == (EVERY_KEY, near)


def drawn(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


def tables(mask: Mask) -> LayerBias:
    return LayerBias(mask, by_bucket=drawn(2, 5), of_query=drawn(2, 5, 4), of_key=drawn(2, 5, 4))


BIAS = AttentionBias([tables(Mask(window=3)), tables(Mask(causal=True)), LayerBias()], BUCKETS)


QUERY, KEY = drawn(6, 3, 9, 4), drawn(6, 3, 9, 4)


def test_masks_hide_what_is_far_and_what_comes_after() -> None:
    masks = AttentionBias(
        [LayerBias(Mask(window=1)), LayerBias(Mask(causal=True)), LayerBias(Mask(causal=True, window=1))]
    )
    vectors = np.zeros((3, 3, 1), np.float32)
    seen = np.isfinite(masks.added(vectors, vectors)).astype(int).tolist()
    assert seen == [
        [[1, 1, 0], [1, 1, 1], [0, 1, 1]],
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
        [[1, 0, 0], [1, 1, 0], [0, 1, 1]],
    ]


def test_tables_are_read_at_the_bucket_of_the_distance() -> None:
    of_query, of_key = drawn(1, 5, 4), drawn(1, 5, 4)
    bias = AttentionBias([LayerBias(by_bucket=np.arange(5.0)[None], of_query=of_query, of_key=of_key)], BUCKETS)
    query, key = drawn(1, 6, 4), drawn(1, 6, 4)
    added = bias.added(query, key)[0]
    for row, column in np.ndindex(6, 6):
        bucket = BUCKETS[3 + min(max(column - row, -3), 3)]
        vectors = query[0, row] @ of_query[0, bucket] + key[0, column] @ of_key[0, bucket]
        assert added[row, column] == pytest.approx(bucket + vectors / 2, abs=1e-6)


@pytest.mark.parametrize(
    ("layer", "adds"),
    [
        (LayerBias(Mask(causal=True)), False),
        (LayerBias(by_bucket=drawn(2, 5)), True),
        (LayerBias(of_query=drawn(2, 5, 4)), True),
    ],
    ids=["a mask", "by bucket", "of queries"],
)
def test_a_mask_alone_adds_nothing_to_the_scores_of_seen_keys(layer: LayerBias, adds: bool) -> None:
    assert AttentionBias([LayerBias(), layer]).adds is adds


@pytest.mark.parametrize("size", [1, 4, 9])
def test_blocks_of_queries_have_what_all_of_them_have(size: int) -> None:
    blocks = [BIAS.added(QUERY, KEY, slice(first, first + size)) for first in range(0, 9, size)]
    np.testing.assert_allclose(np.concatenate(blocks, axis=-2), BIAS.added(QUERY, KEY), atol=1e-6)


def test_logits_get_the_same_in_blocks() -> None:
    added = BIAS.add_to(np.zeros((6, 3, 9, 9), np.float32), QUERY, KEY, room=200)
    np.testing.assert_allclose(added, BIAS.added(QUERY, KEY), atol=1e-6)


def test_some_positions_have_what_they_have_among_all() -> None:
    queries, keys = [2, 5], [0, 5, 8]
    part = BIAS.at(queries, keys).added(QUERY[..., queries, :], KEY[..., keys, :])
    np.testing.assert_allclose(part, BIAS.added(QUERY, KEY)[..., queries, :][..., keys], atol=1e-6)


def test_some_heads_have_what_they_have_among_all() -> None:
    whole = BIAS.added(QUERY, KEY)
    np.testing.assert_array_equal(BIAS.part(1).added(QUERY[2:4], KEY[2:4]), whole[2:4])
    np.testing.assert_array_equal(BIAS.part(1, 1).added(QUERY[3:4], KEY[3:4]), whole[3:4])


def test_a_short_sentence_needs_few_buckets() -> None:
    short = slice(0, 2)
    part = BIAS.within(2)
    assert part.layers[0].by_bucket is not None
    assert part.layers[0].by_bucket.shape == (2, 3)
    found = part.added(QUERY[..., short, :], KEY[..., short, :])
    np.testing.assert_array_equal(found, BIAS.added(QUERY, KEY)[..., short, short])


def test_tensors_get_what_arrays_get() -> None:
    expected = attention_pattern(QUERY, KEY, bias=BIAS)
    found = attention_pattern(torch.from_numpy(QUERY), torch.from_numpy(KEY), bias=BIAS)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


def test_a_query_in_the_padding_has_weights_that_are_numbers() -> None:
    real = np.arange(9) < np.array([[9], [2], [5]])
    pattern = attention_pattern(QUERY, KEY, real, bias=BIAS)
    np.testing.assert_allclose(pattern.sum(axis=-1), 1, atol=1e-6)
    assert pattern[:, 1, :, 2:].max() == 0


@pytest.mark.parametrize(
    "bias",
    [AttentionBias([tables(Mask(causal=True))] * 2, BUCKETS), AttentionBias([LayerBias(Mask(window=4)), LayerBias()])],
)
def test_a_store_gives_back_what_is_added(bias: AttentionBias, tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "model", mode="w")
    write_bias(group, bias)
    for stored, own in ((read_bias(group), bias), (read_bias(group, 1), bias.part(1))):
        assert stored is not None
        heads = slice(0, 2 * len(own.layers))
        np.testing.assert_array_equal(stored.added(QUERY[heads], KEY[heads]), own.added(QUERY[heads], KEY[heads]))


def test_a_model_that_adds_nothing_has_no_group(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "model", mode="w")
    write_bias(group, None)
    assert list(group.members()) == []
    assert read_bias(group) is None


def test_pairs_are_among_the_keys_that_a_query_sees() -> None:
    pieces, flags, real = np.arange(9)[None], np.zeros((1, 9), np.uint8), np.ones((1, 9), bool)
    admitted = admitted_pairs(pieces, flags, real)
    vectors = np.ones((1, 1, 9, 4), np.float32)
    bias = AttentionBias([LayerBias(Mask(window=1))])
    pairs = strongest_pairs(vectors, vectors, np.arange(9)[None], admitted, count=40, bias=bias)
    found = pairs.query_token[0] >= 0
    assert abs(pairs.query_token[0] - pairs.key_token[0])[found].tolist() == [1] * 16


def test_a_key_that_a_query_does_not_see_is_the_last_that_a_picture_is_trained_for() -> None:
    query, key = torch.from_numpy(QUERY[:2]), torch.from_numpy(KEY[:2])
    target = in_sentence(query, key, torch.ones(3, 9, dtype=torch.bool), AttentionBias([LayerBias(Mask(window=3))]))
    far = abs(torch.arange(9) - torch.arange(9)[:, None]) > 3
    assert target.order is not None
    first_unseen = target.order.masked_fill(~far, torch.inf).amin(-1)
    last_seen = target.order.masked_fill(far, -torch.inf).amax(-1)
    assert bool((first_unseen > last_seen).all())
    assert target.shares[..., far].max() == 0


def test_a_distance_beyond_a_window_has_no_logit() -> None:
    zero, window = (
        np.zeros((6, 2)),
        AttentionBias([LayerBias(Mask(window=1), by_bucket=np.array([[0.0, 0, 3]]))], np.arange(3)),
    )
    added = window.added(zero[None], zero[None])[0]
    logits = offset_logits(zero, zero, np.array([3]), added)
    # Rows of words are 0 3, 0 0 3 and 0 0.
    expected = [np.nan] * 9 + [(-1 + 0) / 2, (-1.5 - 1 + 0) / 3, (1.5 + 2) / 2] + [np.nan] * 9
    np.testing.assert_allclose(logits, expected)


@pytest.fixture
def parts_of() -> Callable[[AttentionBias], np.ndarray]:
    """Parts (part, head, query_token, key_token) of the logits of a sentence of nine tokens."""

    def parts_of(bias: AttentionBias) -> np.ndarray:
        tokens = TokenRows(np.arange(9) % 4, np.arange(9), np.ones(9, bool), np.array([9]))
        sums = TableSums(np.arange(4), 9, 2, 4)
        sums.add(QUERY[:2, 0], KEY[:2, 0], tokens)
        return logit_parts(QUERY[:2, 0], KEY[:2, 0], sums.tables(), tokens.token_id, tokens.position, bias)

    return parts_of


@pytest.mark.parametrize("layer", [0, 1])
def test_the_parts_of_a_logit_sum_to_it(layer: int, parts_of: Callable[[AttentionBias], np.ndarray]) -> None:
    bias, query, key = BIAS.part(layer), QUERY[:2, 0], KEY[:2, 0]
    logits = query @ key.swapaxes(-1, -2) / 2 + bias.added(query, key)
    np.testing.assert_allclose(parts_of(bias).sum(axis=0), logits, atol=1e-4)


def test_the_shares_of_the_parts_are_of_the_keys_that_are_seen(
    parts_of: Callable[[AttentionBias], np.ndarray],
) -> None:
    shares = VarianceShares(2)
    shares.add(parts_of(BIAS.part(0)))
    np.testing.assert_allclose(shares.shares.sum(axis=0), 1, atol=1e-6)
