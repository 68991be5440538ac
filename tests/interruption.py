"""An ingest that is killed at one exact moment."""

from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest


def interrupted(ingest: Callable[..., str], place: str | Path, target: str, *, after: int, **settings: Any) -> None:
    """Run an ingest that is interrupted where `target`, by its dotted name, is called once more than `after` times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target, stopped(resolve_name(target), after))
        with pytest.raises(KeyboardInterrupt):
            ingest(Path(place), **settings)


def stopped(function: Callable[..., Any], after: int) -> Callable[..., Any]:
    """A function that does so many calls, and is interrupted at the next."""
    count = iter(range(after))

    def stopped(*arguments: Any, **options: Any) -> Any:
        if next(count, None) is None:
            raise KeyboardInterrupt
        return function(*arguments, **options)

    return stopped
