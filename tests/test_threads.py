"""Numbers that the driver of an ingest computes are the same bit for bit, however many threads it has."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import zarr
from threadpoolctl import threadpool_info, threadpool_limits

from ingest.encode.hooked_model import HookedModel
from ingest.heads.divergence import _of_draws
from ingest.text.blocks import PlannedCorpus, plan
from store.process import one_thread

#: Features of a layer, so many that two threads add the squares in another order than one thread.
FEATURES = 384
#: Numbers of statistics, layers, heads and tokens, with products of the same size.
STORED = (10, 2, 12, 8192)


@pytest.fixture
def with_threads() -> Iterator[Callable[[int, Callable[[], Any]], Any]]:
    """A function that computes with a number of threads of torch and of BLAS."""
    before = torch.get_num_threads()

    def with_threads(count: int, compute: Callable[[], Any]) -> Any:
        torch.set_num_threads(count)
        with threadpool_limits(count):
            return compute()

    yield with_threads
    torch.set_num_threads(before)


def random_layer(generator: torch.Generator) -> SimpleNamespace:
    value, output = (
        SimpleNamespace(
            weight=torch.randn(FEATURES, FEATURES, generator=generator), bias=torch.randn(FEATURES, generator=generator)
        )
        for _ in range(2)
    )
    return SimpleNamespace(value_map=(value.weight, value.bias), output_map=(output.weight, output.bias))


def test_expansion_rates_do_not_depend_on_the_number_of_threads(with_threads: Callable[..., Any]) -> None:
    generator = torch.Generator().manual_seed(0)
    layers = [random_layer(generator) for _ in range(8)]
    model: Any = SimpleNamespace(parts=SimpleNamespace(layers=layers))
    rates = [with_threads(count, lambda: HookedModel.expansion_rates(model)) for count in (1, 2)]
    assert rates[0] == rates[1]


def test_intervals_do_not_depend_on_the_number_of_threads(with_threads: Callable[..., Any]) -> None:
    lengths = np.full(400, 20, np.int32)
    ids = np.arange(lengths.sum(), dtype=np.int32) % 30
    corpus = PlannedCorpus("", plan(lengths, ids, np.zeros(len(ids), np.uint8), length=STORED[-1]))
    group = zarr.create_group({})
    values = np.random.default_rng(0).random(STORED, np.float32)
    group.create_array("token_statistic", data=values)
    alone, together = (with_threads(count, lambda: _of_draws(group, corpus, 0)) for count in (1, 2))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_the_last_of_two_contexts_that_overlap_gives_blas_its_threads_back() -> None:
    first, last = ExitStack(), ExitStack()
    with threadpool_limits(2, "blas"):
        first.enter_context(one_thread("blas"))
        last.enter_context(one_thread())
        first.close()
        assert blas_threads() == {1}
        last.close()
        assert blas_threads() == {2}
