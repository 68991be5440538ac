"""Results of two models, cached with the model of the link: whoever asks for one that is under way waits for it."""

from collections.abc import Callable, Hashable
from typing import TypeVar

from dashboard.compare.two import Two
from dashboard.web.cache import CACHE

T = TypeVar("T")


def kept(two: Two, what: Hashable, count: Callable[[], T]) -> T:
    """The result of `count`, cached under the other model's name and `what`."""
    return CACHE.get(two.own, _key(two, what), count)


def is_kept(two: Two, what: Hashable) -> bool:
    """Whether it is cached."""
    return CACHE.find(two.own, _key(two, what)) is not None


def _key(two: Two, what: Hashable) -> Hashable:
    return "compare", two.other.name, what
