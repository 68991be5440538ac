"""Output of an ingest at the terminal: sentences, and progress bars, which are noted beside the store too."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import Any, TypeVar

from tqdm import tqdm

from store.repository.ingest_status import IngestProgress, forget_progress, note_progress

T = TypeVar("T")
#: Seconds between two notes of the progress of an ingest.
PAUSE = 1.0
#: Writes the progress of an ingest beside its store.
Note = Callable[[str, IngestProgress], object]


class Notes:
    """The progress note beside the store that is being written; none outside of `noting`."""

    def __init__(self) -> None:
        self.store: str | None = None
        self._last = IngestProgress("")
        self._pause = PAUSE
        self._note: Note = note_progress

    def begin(self, store: str, of: str, pause: float, note: Note) -> None:
        """Begin the notes of an ingest."""
        self.store, self._last, self._pause, self._note = store, IngestProgress(of), pause, note
        note(store, self._last)

    def stage(self, name: str, *, total: float, done: float) -> None:
        """Begin a stage."""
        self._last = replace(self._last, stage=name, total=total, done=done, first=done, began=time.time(), updated=0)
        self.update(done)

    def update(self, done: float) -> None:
        """Note the progress of the stage, at most once in a pause."""
        if self.store is not None and time.time() - self._last.updated >= self._pause:
            self._last = replace(self._last, done=done, updated=time.time())
            self._note(self.store, self._last)

    def end(self) -> None:
        """Remove the note: the ingest has ended."""
        if self.store is not None:
            forget_progress(self.store)
        self.store = None


_notes = Notes()


@contextmanager
def noting(store: str, of: str, *, pause: float = PAUSE, note: Note = note_progress) -> Iterator[None]:
    """Note beside the store what the bars show, as long as the context lasts."""
    _notes.begin(store, of, pause, note)
    try:
        yield
    finally:
        _notes.end()


class NotedBar(tqdm):  # type: ignore[misc]
    """A progress bar that is also noted beside the store. Several threads may move it.

    With TQDM_DISABLE set, tqdm counts nothing and lacks most of its attributes: the notes count by themselves.
    """

    def __init__(self, stage: str, *, total: float, initial: float, **settings: Any) -> None:
        self._moving = Lock()
        self._done = initial
        super().__init__(total=total, initial=initial, **settings)
        _notes.stage(stage, total=total, done=initial)

    def update(self, n: float = 1) -> bool | None:
        """Advance the bar."""
        with self._moving:
            self._done += n
            _notes.update(self._done)
            return super().update(n)


def bar(stage: str, *, total: int, unit: str, done: int = 0, delay: float = 0) -> NotedBar:
    """A progress bar, shown after `delay` seconds; where nobody watches (a log file) it prints a line every ten seconds."""
    watched = sys.stderr.isatty()
    return NotedBar(
        stage,
        total=total + 1e-6,  # a thousand thousandths are a little more than one, of which tqdm would warn
        initial=done,
        desc=f"{stage:<12}",
        unit=f" {unit}",
        unit_scale=True,
        dynamic_ncols=watched,
        mininterval=0.2 if watched else 10,
        delay=delay,
        file=sys.stderr,
    )


def counted_on_bar(items: Iterable[T], stage: str, *, total: int, unit: str) -> Iterator[T]:
    """Yield the items, counted on a bar."""
    with bar(stage, total=total, unit=unit) as progress:
        for item in items:
            yield item
            progress.update()


def say(sentence: str) -> None:
    """Print a sentence to the terminal."""
    print(sentence, flush=True)
