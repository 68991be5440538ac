"""Which keys a query sees: the pairs of a sentence are written out and compared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.kernels.bias import AttentionBias, LayerBias, masks_of
from store.kernels.mask import EVERY_KEY, Mask

masks = st.builds(Mask, st.booleans(), st.none() | st.integers(0, 6))


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
