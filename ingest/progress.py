"""Long work shows how far it is, how fast, and how long it will take."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")


def bar(stage: str, *, total: int, unit: str, done: int = 0) -> "tqdm[None]":
    """A progress bar; where nobody watches (a log file) it prints a line every ten seconds."""
    watched = sys.stderr.isatty()
    return tqdm(
        total=total + 1e-6,  # a thousand thousandths are a little more than one, of which tqdm would warn
        initial=done,
        desc=f"{stage:<12}",
        unit=f" {unit}",
        unit_scale=True,
        dynamic_ncols=watched,
        mininterval=0.2 if watched else 10,
        file=sys.stderr,
    )


def watched(items: Iterable[T], stage: str, *, total: int, unit: str) -> Iterator[T]:
    """The same items, counted on a bar."""
    with bar(stage, total=total, unit=unit) as progress:
        for item in items:
            yield item
            progress.update()
