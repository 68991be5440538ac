"""Attention that counts its patterns gives what `store.kernels` gives, whatever the lengths of the sentences."""

from itertools import pairwise
from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given
from torch import Tensor

from ingest.encode.counted_attention import Counted, Sentences, attend_and_summarize
from store.kernels.attention import attention_pattern, output_gram, value_norm
from store.kernels.bias import AttentionBias, LayerBias, Mask
from store.kernels.statistics import SINK, SINK_OF_UNIFORM, offset_profile, summed_pattern, token_statistics
from store.schema.corpus import CLS, PUNCTUATION, SEP
from store.schema.model import STATISTICS

HEADS, CHANNELS = 3, 8
LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=5)


class Case(NamedTuple):
    """Random vectors (token, head, channel) of consecutive sentences."""

    query: Tensor
    key: Tensor
    value: Tensor
    gram: Tensor
    sentences: Sentences


class Padded(NamedTuple):
    """Padded patterns (sentence, head, query_token, key_token) by definition in float64, with flags, norms and context."""

    pattern: Tensor
    flags: Tensor
    real: Tensor
    value_norm: Tensor
    context: Tensor


def random_case(lengths: list[int], *, seed: int, sharpness: float = 1) -> Case:
    random = torch.Generator().manual_seed(seed)
    query, key, value = torch.randn(3, sum(lengths), HEADS, CHANNELS, generator=random)
    flags = np.array([0, PUNCTUATION, SEP], np.uint8)[torch.randint(3, (sum(lengths),), generator=random).numpy()]
    flags[np.cumsum([0, *lengths[:-1]])] = CLS
    gram = output_gram(torch.randn(HEADS, CHANNELS, HEADS * CHANNELS, generator=random))
    return Case(sharpness * query, key, value, gram, Sentences(np.array(lengths), flags))


def padded(case: Case) -> Padded:
    lengths = torch.from_numpy(case.sentences.lengths)
    real = torch.arange(int(lengths.max())) < lengths[:, None]
    vectors = torch.zeros(3, *real.shape, HEADS, CHANNELS, dtype=torch.float64)
    vectors[:, real] = torch.stack([case.query, case.key, case.value]).double()
    query, key, value = vectors.transpose(2, 3)
    flags = torch.zeros(real.shape, dtype=torch.uint8)
    flags[real] = torch.from_numpy(case.sentences.flags)
    pattern = attention_pattern(query, key, real[:, None])
    context = (pattern @ value).transpose(1, 2)[real].flatten(1)
    return Padded(pattern, flags, real, value_norm(value, case.gram.double()), context)


@given(LENGTHS, st.integers(0, 1 << 16), st.sampled_from([0.1, 1, 20]))
def test_statistics_are_those_of_the_definitions(lengths: list[int], seed: int, sharpness: float) -> None:
    case = random_case(lengths, seed=seed, sharpness=sharpness)
    defined = padded(case)
    wanted = token_statistics(defined.pattern, defined.flags, defined.real, defined.value_norm)
    for name, own, other in zip(STATISTICS, attend_and_summarize(*case).statistics, wanted, strict=True):
        expected = other.transpose(1, 2)[defined.real].T
        np.testing.assert_allclose(own, expected, rtol=1e-4, atol=2e-5, err_msg=name)


@given(LENGTHS, st.integers(0, 1 << 16), st.sampled_from([Mask(causal=True), Mask(window=2)]))
def test_sinks_are_those_of_the_definition_where_queries_do_not_see_every_key(
    lengths: list[int], seed: int, mask: Mask
) -> None:
    case, place = random_case(lengths, seed=seed, sharpness=2), list(STATISTICS).index("to_sink")
    found = attend_and_summarize(*case, bias=AttentionBias([LayerBias(mask)])).statistics[place]
    bounds = np.cumsum([0, *lengths])
    for start, stop in pairwise(bounds.tolist()):
        query, key = (vectors[start:stop].transpose(0, 1).double() for vectors in (case.query, case.key))
        logits = query @ key.transpose(1, 2) / CHANNELS**0.5
        pattern = torch.softmax(logits.masked_fill(~torch.from_numpy(mask.pairs(stop - start)), -torch.inf), -1)
        even = (mask.pairs(stop - start) / mask.pairs(stop - start).sum(axis=1, keepdims=True)).sum(axis=0)
        sinks = pattern.sum(dim=1) > torch.from_numpy(np.maximum(SINK * (stop - start), SINK_OF_UNIFORM * even))
        expected = (pattern * sinks[:, None]).sum(dim=-1)
        np.testing.assert_allclose(found[:, start:stop], expected, rtol=1e-4, atol=2e-5)


@given(LENGTHS, st.integers(0, 1 << 16))
def test_profiles_are_those_of_the_definitions(lengths: list[int], seed: int) -> None:
    case = random_case(lengths, seed=seed)
    defined, own = padded(case), attend_and_summarize(*case)
    summed = summed_pattern(defined.pattern, defined.real)
    np.testing.assert_allclose(own.profile, offset_profile(summed), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(own.received_at, summed.sum(dim=1).T, rtol=1e-5, atol=1e-6)


@given(LENGTHS, st.integers(0, 1 << 16), st.sampled_from([0.1, 1, 20]))
def test_values_are_weighted_and_measured_as_by_definition(lengths: list[int], seed: int, sharpness: float) -> None:
    case = random_case(lengths, seed=seed, sharpness=sharpness)
    defined, own = padded(case), attend_and_summarize(*case)
    np.testing.assert_allclose(own.context, defined.context, rtol=1e-4, atol=1e-4)
    norms = defined.value_norm.transpose(1, 2)[defined.real].T
    np.testing.assert_allclose(own.value_norm, norms, rtol=1e-5)


def test_longer_sentences_beside_it_change_no_statistic_of_a_sentence() -> None:
    case = random_case([7, 40, 12], seed=1)
    together = attend_and_summarize(*case)
    for number, (start, stop) in enumerate(pairwise(case.sentences.starts)):
        own = slice(start, stop)
        sentence = Sentences(case.sentences.lengths[number, None], case.sentences.flags[own])
        alone = attend_and_summarize(case.query[own], case.key[own], case.value[own], case.gram, sentence)
        np.testing.assert_allclose(alone.statistics, together.statistics[..., own], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("lengths", [[7, 40, 12], [40]])
def test_heads_are_counted_alike_few_or_many_at_a_time(lengths: list[int]) -> None:
    case = random_case(lengths, seed=1)
    together = attend_and_summarize(*case)
    for name, alone in vars(attend_and_summarize(*case, room=1)).items():
        np.testing.assert_allclose(alone, getattr(together, name), rtol=1e-5, atol=1e-6)


def one_token() -> Counted:
    return attend_and_summarize(*random_case([1], seed=0))


def test_a_query_with_one_key_has_no_entropy() -> None:
    by_name = dict(zip(STATISTICS, one_token().statistics[..., 0], strict=True))
    assert by_name["entropy"].tolist() == [0] * HEADS
    assert by_name["participation"].tolist() == [1] * HEADS
