"""Processes that fit what the libraries fit on one core."""

from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from os import cpu_count


@cache
def processes() -> ProcessPoolExecutor:
    """A process for every core, for all pictures: each takes seconds to import the libraries.

    Started anew, not forked: icechunk's and torch's threads do not survive that.
    """
    return ProcessPoolExecutor(cpu_count(), mp_context=get_context("spawn"))
