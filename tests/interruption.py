"""An ingest, or a fine-tuning, that is killed at one exact moment."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

#: A module or a class, and the name of a function in it.
Target = tuple[Any, str]


def interrupted(ingest: Callable[..., str], place: str | Path, target: Target, *, after: int, **settings: Any) -> None:
    """Run an ingest that is interrupted where the target is called once more than `after` times."""
    with interruption(target, after=after):
        ingest(Path(place), **settings)


@contextmanager
def interruption(target: Target, *, after: int) -> Iterator[None]:
    """Interrupt the code in the context where it calls the target once more than `after` times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*target, _stopped(getattr(*target), after))
        with pytest.raises(KeyboardInterrupt):
            yield


def _stopped(function: Callable[..., Any], after: int) -> Callable[..., Any]:
    """The function, which raises KeyboardInterrupt after `after` calls."""
    count = iter(range(after))

    def stopped(*arguments: Any, **options: Any) -> Any:
        if next(count, None) is None:
            raise KeyboardInterrupt
        return function(*arguments, **options)

    return stopped
