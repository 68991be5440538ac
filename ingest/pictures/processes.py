"""Processes that fit what the libraries fit on one core."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from os import cpu_count


@cache
def processes() -> ProcessPoolExecutor:
    """A process for every core, for all pictures: each takes seconds to import the libraries.

    Started anew, not forked: icechunk's and torch's threads do not survive that.
    """
    return ProcessPoolExecutor(cpu_count(), mp_context=get_context("spawn"))


@contextmanager
def waiting_fits_dropped() -> Iterator[None]:
    """Where what is done here ends early, no fit begins any more: the interpreter would wait for all of them."""
    try:
        yield
    except BaseException:
        if processes.cache_info().currsize:
            processes().shutdown(wait=False, cancel_futures=True)
            processes.cache_clear()
        raise
