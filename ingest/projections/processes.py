"""Processes that fit what the libraries fit on one core, and what they are given."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from multiprocessing import active_children, get_context
from os import cpu_count
from typing import TypeVar

from ingest.parent import end_with_pool

Input = TypeVar("Input")
Result = TypeVar("Result")


@cache
def processes() -> ProcessPoolExecutor:
    """A process for every core, for all pictures: each takes seconds to import the libraries.

    Started anew, not forked: icechunk's and torch's threads do not survive that.
    """
    return ProcessPoolExecutor(cpu_count(), mp_context=get_context("spawn"), initializer=end_with_pool)


@cache
def _feeders() -> ThreadPoolExecutor:
    """A thread for every process, and one that has the next input ready."""
    return ThreadPoolExecutor((cpu_count() or 1) + 1, "fits")


def fit_later(fit: Callable[[Input], Result], read: Callable[[], Input]) -> Future[Result]:
    """A fit in a process, begun in the order of the calls; what it takes is read only when its turn is near."""
    pool = processes()
    return _feeders().submit(lambda: pool.submit(fit, read()).result())


@contextmanager
def fits_ended() -> Iterator[None]:
    """Where what is done here ends early, so do the fits: the interpreter would wait for all that run or are to come."""
    try:
        yield
    except BaseException:
        _end_fits()
        raise


def _end_fits() -> None:
    """No fit begins any more, then those that run are killed: they hold nothing but their result."""
    for pool in (_feeders, processes):
        if pool.cache_info().currsize:
            pool().shutdown(wait=False, cancel_futures=True)
            pool.cache_clear()
    for process in active_children():
        process.kill()
