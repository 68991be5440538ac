"""The cache: bounded in bytes, one computation for all threads, results removed with their owner."""

import gc
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
import torch
import xarray as xr

from dashboard.web.errors import ReaderLeft
from dashboard.web.results import BUDGET, Cache, cached, current_cache, memory_size
from store import Corpus, open_corpus, open_snapshot


class Owner:
    """Something that results belong to."""


def kilobytes(count: int) -> Callable[[], bytes]:
    return lambda: bytes(1_000 * count)


def read_at_once(read: Callable[[], object]) -> list[object]:
    """Results of eight threads that begin to read at the same time."""
    begin = threading.Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        return [result.result() for result in [pool.submit(lambda: (begin.wait(), read())[1]) for _ in range(8)]]


def test_the_least_recently_used_result_is_removed_first() -> None:
    cache, owner = Cache(10_000), Owner()
    for name in ("first", "second"):
        cache.get(owner, name, kilobytes(4))
    cache.find(owner, "first")
    cache.get(owner, "third", kilobytes(4))
    assert [cache.find(owner, name) is not None for name in ("first", "second", "third")] == [True, False, True]


def test_results_of_all_owners_share_one_budget() -> None:
    cache, owners = Cache(100_000), [Owner() for _ in range(50)]
    for number, owner in enumerate(owners):
        cache.get(owner, number, kilobytes(1 + number % 9))
        assert cache.size <= cache.budget
    assert cache.size > 80_000


def test_a_result_larger_than_half_the_budget_is_returned_and_not_cached() -> None:
    cache, owner = Cache(10_000), Owner()
    cache.get(owner, "small", kilobytes(4))
    assert len(cache.get(owner, "large", kilobytes(6))) == 6_000
    assert cache.find(owner, "large") is None
    assert cache.find(owner, "small") is not None


@pytest.mark.parametrize("size", [4, 20])
def test_threads_share_one_computation(size: int) -> None:
    cache, owner, start = Cache(10_000), Owner(), threading.Barrier(8)
    computed: list[int] = []

    def compute() -> bytes:
        computed.append(1)
        time.sleep(0.1)
        return bytes(1_000 * size)

    def ask(_: int) -> bytes:
        start.wait()
        return cache.get(owner, "same", compute)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(ask, range(8)))
    assert len(computed) == 1
    assert all(result is results[0] for result in results)


def second_answer(first_error: Exception) -> object:
    """The result of a second reader who waits while the computation for the first reader fails with an error."""
    cache, owner, began, go_on = Cache(10_000), Owner(), threading.Event(), threading.Event()

    def fail() -> int:
        began.set()
        go_on.wait()
        time.sleep(0.05)  # the second waits by now
        raise first_error

    def ask(compute: Callable[[], int]) -> object:
        try:
            return cache.get(owner, "same", compute)
        except Exception as error:
            return error

    with ThreadPoolExecutor(2) as pool:
        pool.submit(ask, fail)
        began.wait()
        second = pool.submit(ask, lambda: 7)
        go_on.set()
        return second.result()


def test_a_thread_computes_itself_where_the_reader_it_waits_for_leaves() -> None:
    assert second_answer(ReaderLeft()) == 7


def test_threads_share_the_error_of_a_computation() -> None:
    error = ZeroDivisionError()
    assert second_answer(error) is error


def test_a_failed_computation_is_repeated() -> None:
    cache, owner = Cache(10_000), Owner()
    with pytest.raises(ZeroDivisionError):
        cache.get(owner, "same", lambda: 1 // 0)
    assert cache.get(owner, "same", lambda: 7) == 7


def test_results_are_removed_with_their_owner() -> None:
    cache, owner = Cache(10_000), Owner()
    for name in range(5):
        cache.get(owner, name, kilobytes(1))
    del owner
    gc.collect()
    assert cache.size == 0


def test_a_cached_result_may_be_none() -> None:
    cache, owner, computed = Cache(10_000), Owner(), [0]
    for _ in range(2):
        cache.get(owner, "none", lambda: computed.append(1))
    assert computed == [0, 1]


def test_a_function_is_computed_once_for_the_same_arguments() -> None:
    counted: list[tuple[int, int]] = []

    @cached
    def product(_: Owner, factor: int, *, other: int) -> int:
        counted.append((factor, other))
        return factor * other

    owner = Owner()
    assert [product(owner, 2, other=3), product(owner, 2, other=3), product(owner, 3, other=3)] == [6, 6, 9]
    assert counted == [(2, 3), (3, 3)]


def test_results_are_cached_in_the_cache_that_runs_the_function() -> None:
    owner, own = Owner(), Cache(10_000)
    own.run(cached(memory_size), owner)
    assert own.size > 0
    assert current_cache() is not own


def test_the_budget_of_an_application_is_smaller_than_a_workers_memory() -> None:
    assert BUDGET <= 64 << 20


def test_readers_who_open_a_corpus_at_once_get_the_same(tiny_store: str) -> None:
    corpora = read_at_once(open_snapshot(tiny_store).corpus)
    assert all(corpus is corpora[0] for corpus in corpora)


def test_readers_who_open_feature_points_at_once_get_the_same(tiny_store: str) -> None:
    corpus = open_corpus(tiny_store)
    features = read_at_once(lambda: corpus.features("sample"))
    assert all(points is features[0] for points in features)


def test_an_array_in_the_cache_counts_its_bytes() -> None:
    cache, owner = Cache(1_000_000), Owner()
    cache.get(owner, "array", lambda: np.zeros((100, 100), np.float32))
    assert 40_000 <= cache.size < 41_000


NUMBERS = np.zeros(250_000, np.float32)
MEGABYTE = NUMBERS.nbytes


@dataclass(frozen=True, eq=False)
class Result:
    numbers: np.ndarray
    named: dict[str, list[str]]


@pytest.mark.parametrize(
    "value",
    [
        NUMBERS,
        NUMBERS[:3],
        np.broadcast_to(NUMBERS, (4, len(NUMBERS))),
        [NUMBERS, NUMBERS[5:], (NUMBERS,)],
        {"numbers": NUMBERS},
        Result(NUMBERS, {"text": ["a"]}),
        xr.DataArray(NUMBERS),
        xr.Dataset({"numbers": ("token", NUMBERS)}),
        bytes(MEGABYTE),
        "x" * MEGABYTE,
        np.array(["x" * (MEGABYTE // 2), "y" * (MEGABYTE // 2)], object),
        np.array(["x" * (MEGABYTE // 2), "y" * (MEGABYTE // 2)], np.dtypes.StringDType()),
        torch.zeros(MEGABYTE // 4).numpy(),
        dict.fromkeys(range(0), "x" * 50) | {"long": ["z" * MEGABYTE]},
    ],
    ids=range(14),
)
def test_every_kind_of_result_is_measured(value: object) -> None:
    assert MEGABYTE <= memory_size(value) < 1.02 * MEGABYTE


def test_a_lazy_array_counts_nothing(tiny_corpus: Corpus) -> None:
    assert memory_size(tiny_corpus.query.variable) < 10_000


def test_an_opened_corpus_is_counted_as_a_reference(tiny_corpus: Corpus) -> None:
    assert tiny_corpus.tokens.nbytes > 0
    assert memory_size([tiny_corpus]) < 1_000
