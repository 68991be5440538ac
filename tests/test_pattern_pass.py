"""One pass over patterns gives the statistics and profiles of `store.kernels.statistics`."""

from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np
import torch
from hypothesis import given
from torch import Tensor

from ingest.encode.pattern_pass import Passed, pass_over
from store.kernels.attention import attention_logits, softmax
from store.kernels.statistics import offset_profile, summed_pattern, token_statistics
from store.schema.corpus import CLS, PUNCTUATION, SEP
from store.schema.model import STATISTICS

HEADS = 3


class Case(NamedTuple):
    """Patterns of random queries and keys, with padding where sentences differ in length."""

    logits: Tensor
    pattern: Tensor
    lengths: Tensor
    real: Tensor
    flags: Tensor
    value_norm: Tensor


def random_case(lengths: list[int], *, seed: int, sharpness: float = 1) -> Case:
    random = torch.Generator().manual_seed(seed)
    sizes, longest = torch.tensor(lengths), max(lengths)
    real = torch.arange(longest) < sizes[:, None]
    query, key = torch.randn(2, len(lengths), HEADS, longest, 8, generator=random)
    logits = attention_logits(sharpness * query, key).masked_fill(~real[:, None, None], -float("inf"))
    flags = torch.tensor([0, PUNCTUATION, SEP])[torch.randint(3, real.shape, generator=random)].to(torch.uint8)
    flags[:, 0] = CLS
    value_norm = torch.rand(len(lengths), HEADS, longest, generator=random)
    return Case(logits, softmax(logits), sizes, real, flags, value_norm)


def passed(case: Case) -> Passed:
    return pass_over(case.pattern, case.logits, case.lengths, case.flags, case.value_norm)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(0, 1 << 16), st.sampled_from([0.1, 1, 20]))
def test_statistics_are_those_of_the_definitions(lengths: list[int], seed: int, sharpness: float) -> None:
    case = random_case(lengths, seed=seed, sharpness=sharpness)
    wanted = token_statistics(case.pattern.double(), case.flags, case.real, case.value_norm.double())
    real = case.real[:, None].expand(wanted.shape[1:])
    for name, own, other in zip(STATISTICS, passed(case).statistics, wanted, strict=True):
        np.testing.assert_allclose(own[real], other[real], rtol=1e-4, atol=2e-5, err_msg=name)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(0, 1 << 16))
def test_profiles_are_those_of_the_definitions(lengths: list[int], seed: int) -> None:
    case = random_case(lengths, seed=seed)
    summed, own = summed_pattern(case.pattern.double(), case.real), passed(case)
    np.testing.assert_allclose(own.profile, offset_profile(summed), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(own.received_at, summed.sum(dim=1).T, rtol=1e-5, atol=1e-6)


def test_padding_changes_no_bit() -> None:
    case = random_case([7], seed=1)
    pattern, logits = (torch.nn.functional.pad(tensor, (0, 5, 0, 5)) for tensor in (case.pattern, case.logits))
    flags, value_norm = (torch.nn.functional.pad(tensor, (0, 5)) for tensor in (case.flags, case.value_norm))
    own = pass_over(pattern, logits, case.lengths, flags, value_norm).statistics
    assert torch.equal(own[..., :7], passed(case).statistics)
    assert not own[..., 7:].any()


def test_a_query_with_one_key_has_no_entropy() -> None:
    own = passed(random_case([1], seed=0)).statistics[:, 0, :, 0]
    by_name = dict(zip(STATISTICS, own, strict=True))
    assert by_name["entropy"].tolist() == [0] * HEADS
    assert by_name["participation"].tolist() == [1] * HEADS
