"""What is counted of two models once: whoever asks while it is being counted waits for it, nobody counts it again."""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from dashboard.compare.two import Two
from dashboard.once import once
from dashboard.recent import Recent
from store import Corpus

#: Results kept of a corpus.
KEPT = 24
T = TypeVar("T")
_at_the_locks = Lock()


def kept(two: Two, what: Hashable, count: Callable[[], T]) -> T:
    """The result of `count`, kept with the model of the link under the other's name and `what`."""
    key = (two.other.name, what)
    with _lock(two.own, key):
        result: T = _recent(two.own).get(key, count)
    return result


def is_kept(two: Two, what: Hashable) -> bool:
    """Whether it has been counted."""
    return _recent(two.own).find((two.other.name, what)) is not None


@once
def _recent(_: Corpus) -> Recent[Any]:
    return Recent(KEPT)


@once
def _locks(_: Corpus) -> WeakValueDictionary[Hashable, Lock]:
    return WeakValueDictionary()


def _lock(corpus: Corpus, key: Hashable) -> Lock:
    """The same for all who ask for the key at once; it is forgotten when the last of them has its answer."""
    with _at_the_locks:
        return _locks(corpus).setdefault(key, Lock())
