"""How the cores of a CPU are shared: many small steps share them badly within a step, and well side by side."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from os import cpu_count
from typing import TypeVar

import torch
from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def one_thread_each(workers: int | None) -> Iterator[None]:
    """Where several work at once each takes one core; afterwards torch has all of them again."""
    threads = torch.get_num_threads()
    torch.set_num_threads(threads if workers == 1 else 1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def cores() -> Iterator[ThreadPoolExecutor]:
    """Workers, each on one core, where a product of matrices is the same bit for bit every time."""
    with one_thread_each(None), threadpool_limits(1), ThreadPoolExecutor(cpu_count()) as pool:
        yield pool


def side_by_side(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """As `map`, several at once."""
    with cores() as pool:
        return list(pool.map(function, items))
