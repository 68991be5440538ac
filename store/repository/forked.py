"""Refuses to read a store in a process that was forked after it was opened: icechunk would wait there for ever.

A fork copies the calling thread only, and icechunk answers from threads of its own, which it starts once for a process.
"""

import os

from store.repository.errors import StoreError

#: Processes that icechunk runs in: this one, and those that it was forked from.
_RUNS_IN: set[int] = set()


def enter_process() -> None:
    """Note that icechunk runs in this process. StoreError where it ran before in one that this was forked from."""
    if _RUNS_IN and os.getpid() not in _RUNS_IN:
        raise StoreError(
            "A process that was forked from one that has opened a store cannot read it. Start processes anew: "
            'ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")).'
        )
    _RUNS_IN.add(os.getpid())
