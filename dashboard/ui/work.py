"""Work that a page or a part of it waits for: how far it is, and how its reader ends it.

Progress is in small files, as any process of the server may be asked for it. `deferred.py` shows it on the page.
"""

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TypeVar

from dashboard.web.admission import cancelled_by, reader_left, steps_told_to
from dashboard.web.errors import ReaderLeft, Refusal
from dashboard.web.http import for_one_reader
from dashboard.web.processes import write_whole
from dashboard.web.served_store import ServedStore

T = TypeVar("T")
#: Seconds between two notes of how far a job is.
PROGRESS_SECONDS = 0.1
_NAME = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class WorkKind:
    """A kind of job.

    Attributes
    ----------
    place
        The part of a page that it fills.
    waiting
        What a reader is told until it is their turn.
    cancelled
        What a reader is told who pressed Cancel.
    again
        The title of the link that starts it again; None where the page has a button for that.
    fields
        Fields of a link that it depends on: a link that changes one of them, or the page, ends it.
    """

    place: str
    waiting: str
    cancelled: str
    again: str | None
    fields: tuple[str, ...]


#: The content of a page at a link.
PAGE = WorkKind("page", "The server puts this page together.", "The reader has gone to another page.", None, ())


@dataclass(frozen=True)
class Progress:
    """How far a job is: what it does now, the share that is done, 0 to 1, and the seconds since it began.

    The share is None where nobody can say how much there is to do.
    """

    stage: str
    share: float | None
    seconds: float

    @property
    def left(self) -> float | None:
        """Seconds that it will take, at this rate; None where too little is done to say."""
        share = self.share or 0
        return self.seconds * (1 - share) / share if share > 0.05 else None

    @property
    def sentence(self) -> str:
        """What is done now, how far it is and the time left; how long it takes already where no share is known."""
        if self.share is None:
            return f"{self.stage}, {self.seconds:.0f} s so far."
        left = "" if self.left is None else f", about {max(1, round(self.left))} s left"
        return f"{self.stage}: {100 * self.share:.0f}%{left}."


class Job:
    """Work that somebody waits for; this one is never ended and tells nobody."""

    def begin(self, stage: str) -> None:
        """It is this reader's turn; `stage` says what begins."""

    def watch(self, share: float, stage: str | None = None) -> None:
        """So much is done, 0 to 1, and what is done now, if that changes; raises where nobody waits any more."""

    @property
    def reader_left_or_cancelled(self) -> bool:
        """Whether nobody waits any more."""
        return False


class RequestJob(Job):
    """Work of a request that nobody is told of, such as a file; it ends where its reader has left."""

    def watch(self, share: float, stage: str | None = None) -> None:  # noqa: ARG002
        """Raises where the reader has left."""
        if self.reader_left_or_cancelled:
            raise ReaderLeft

    @property
    def reader_left_or_cancelled(self) -> bool:
        """Whether the reader has left."""
        return reader_left()


class Jobs:
    """The jobs that pages wait for, in a folder that all processes of the server share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def of(cls, served_store: ServedStore) -> "Jobs":
        """Those of a served store, in the folder of its server."""
        return cls(served_store.folder)

    def job(self, name: str, kind: WorkKind) -> "WatchedJob":
        """The wait of a page; `name` is from `new_name`."""
        return WatchedJob(self._folder, _checked(name), kind)

    def find(self, name: str) -> Progress | None:
        """None where the job has not begun, or has ended."""
        try:
            noted = json.loads((self._folder / f"{_checked(name)}.progress").read_bytes())
        except FileNotFoundError:
            return None
        return Progress(noted["stage"], noted["share"], max(0.0, time.time() - noted["began"]))

    def waiting(self, name: str) -> str:
        """What a reader is told until it is their turn; empty where nobody waits for this job."""
        try:
            return (self._folder / f"{_checked(name)}.waits").read_text("utf-8")
        except FileNotFoundError:
            return ""

    def cancel(self, name: str) -> None:
        """End a job that waits or works; one that has ended stays as it is."""
        if (self._folder / f"{_checked(name)}.waits").exists():
            write_whole(self._folder / f"{name}.cancel", b"")


class WatchedJob(Job):
    """Notes how far the job is, and ends it where its reader cancelled it or left. A context manager: afterwards no note stays."""

    def __init__(self, folder: Path, name: str, kind: WorkKind) -> None:
        self._folder, self._name, self._kind = folder, name, kind
        self._began = self._noted = 0.0
        self._stage = ""
        self._within = ExitStack()

    def __enter__(self) -> "WatchedJob":
        write_whole(self._file("waits"), self._kind.waiting.encode())
        token = _CURRENT.set(self)
        self._within.callback(_CURRENT.reset, token)
        self._within.enter_context(cancelled_by(self._file("cancel").exists))
        self._within.enter_context(steps_told_to(lambda step: self._watch(None, step)))
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._within.close()
        cancelled = self._file("cancel").exists()
        for kind in ("waits", "progress", "cancel"):
            self._file(kind).unlink(missing_ok=True)
        if cancelled and isinstance(error, Refusal):  # it may have waited for its turn
            raise self._cancelled from error

    def begin(self, stage: str) -> None:
        """Note when."""
        self._began, self._stage = time.time(), stage
        write_whole(self._file("waits"), self._kind.waiting.encode())  # a lost request of the same page may have ended
        self._note(None)

    def watch(self, share: float, stage: str | None = None) -> None:
        """Note the share, ten times a second at most."""
        self._watch(share, stage)

    def _watch(self, share: float | None, stage: str | None) -> None:
        if self.reader_left_or_cancelled:
            raise self._cancelled
        is_new = stage not in (None, self._stage)
        self._stage = stage or self._stage
        if is_new or time.time() - self._noted >= PROGRESS_SECONDS:
            self._note(share)

    @property
    def reader_left_or_cancelled(self) -> bool:
        """Whether the reader cancelled the job or left."""
        return self._file("cancel").exists() or reader_left()

    @property
    def _cancelled(self) -> Refusal:
        return ReaderLeft(self._kind.cancelled)  # for those who wait for the same result

    def _note(self, share: float | None) -> None:
        self._noted = time.time()
        noted = {"stage": self._stage, "share": share, "began": self._began}
        write_whole(self._file("progress"), json.dumps(noted).encode())

    def _file(self, kind: str) -> Path:
        return self._folder / f"{self._name}.{kind}"


_CURRENT: ContextVar[Job | None] = ContextVar("job", default=None)


def current_job() -> Job:
    """The job that this thread works for; outside of any, one that ends where the reader of a request has left."""
    return _CURRENT.get() or RequestJob()


def watched(items: Sequence[T], stage: str | None = None) -> Iterator[T]:
    """The same items, for work on one after the other: the job says how far it is, and ends where nobody waits.

    `stage` says what the work is, where it is not what began.
    """
    job = current_job()
    for number, item in enumerate(items):
        job.watch(number / len(items), stage)
        yield item


def new_name() -> str:
    """A name for a job that nobody guesses: the page that holds it is for one reader."""
    for_one_reader()
    return token_hex(8)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise Refusal("There is no such job. Reload the page.", 404)
    return name
