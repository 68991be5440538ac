"""Errors of a store. Each message names the problem, then the remedy.

A process that was forked after a store was opened gets an error too: icechunk would wait there for ever. A fork copies
only the calling thread, and icechunk answers from threads of its own, which it starts once per process.
"""

import os
from operator import index

#: Ids of processes in which icechunk runs: this process, and processes that it was forked from.
_RUNS_IN: set[int] = set()


class StoreError(Exception):
    """A store cannot be used as requested."""


class StoreNotFound(StoreError):
    """There is no store at this URL."""


class StoreUnreachable(StoreError):
    """The storage does not answer, so nothing is known about the store."""


class StoreIncomplete(StoreError):
    """The store exists, but nothing complete has been published in it."""


class NotIngested(StoreError):
    """A result that a stage of the ingest computes is missing.

    Attributes
    ----------
    missing, remedy
        A sentence on the missing result, and a sentence on how to compute it.
    """

    def __init__(self, missing: str, remedy: str) -> None:
        super().__init__(f"{missing} {remedy}")
        self.missing, self.remedy = missing, remedy

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        # A pool of processes waits for ever on an error that cannot be unpickled.
        return type(self), (self.missing, self.remedy)


class SchemaMismatch(StoreError):
    """The store was written with another version of the schema."""


class SnapshotNotFound(StoreError):
    """The requested snapshot was never published, or has been deleted."""


class StoreCorrupt(StoreError):
    """A part of the store cannot be read or contradicts another part."""


def check_head(layer: int, head: int, *, layers: int, heads: int) -> None:
    """Raise StoreError where a model of `layers` layers with `heads` heads each has no such head. Both count from 0."""
    if not (is_integer(layer) and is_integer(head)):
        raise StoreError(f"A layer and a head are whole numbers, not {layer!r} and {head!r}. Give numbers from 0.")
    if not (0 <= layer < layers and 0 <= head < heads):
        raise StoreError(
            f"There is no head L{layer} H{head}. Choose one of L0 to L{layers - 1} and H0 to H{heads - 1}."
        )


def check_index(name: str, number: int, size: int) -> None:
    """Raise StoreError where `number` is no index, from 0, among `size` items; `name` names an item, such as a sentence."""
    if not is_integer(number):
        raise StoreError(f"A {name} is a whole number, not {number!r}. Give a number from 0.")
    if not 0 <= number < size:
        raise StoreError(f"{name}={number} is out of range. Choose 0 to {size - 1}.")


def is_integer(number: object) -> bool:
    """Whether an object is an integer of Python or numpy; True and False are not."""
    try:
        index(number)  # type: ignore[arg-type]
    except TypeError:
        return False
    return not isinstance(number, bool)


def enter_process() -> None:
    """Note that icechunk runs in this process. StoreError where it ran before in a process that this one was forked from."""
    if _RUNS_IN and os.getpid() not in _RUNS_IN:
        raise StoreError(
            "A process that was forked from one that has opened a store cannot read it. Start processes anew: "
            'ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")).'
        )
    _RUNS_IN.add(os.getpid())
