"""What is computed once for each opened corpus: a snapshot never changes. It is forgotten with the corpus."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from store import Corpus

T = TypeVar("T")


def once(compute: Callable[[Corpus], T]) -> Callable[[Corpus], T]:
    """The same function of a corpus, computed at its first call. Two threads may both compute it; both get the same."""
    known: WeakKeyDictionary[Corpus, T] = WeakKeyDictionary()

    @wraps(compute)
    def kept(corpus: Corpus) -> T:
        if corpus not in known:
            known[corpus] = compute(corpus)
        return known[corpus]

    return kept
