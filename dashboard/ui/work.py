"""Work that a page or a part of it waits for: its progress, and how its reader cancels it.

Progress is in small files, as any process of the server may answer a request for it. `deferred.py` shows it on the page.
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
#: Seconds between two notes of a job's progress.
PROGRESS_SECONDS = 0.1
_NAME = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class WorkKind:
    """A kind of job.

    Attributes
    ----------
    place
        Name of the place on a page that the job fills.
    waiting
        Message to a reader until it is their turn.
    cancelled
        Message to a reader who pressed Cancel.
    again
        The title of the link that starts the job again; None where the page has a button instead.
    fields
        Fields of a link that the job depends on: a link that changes one of them, or the page, ends the job.
    """

    place: str
    waiting: str
    cancelled: str
    again: str | None
    fields: tuple[str, ...]


#: Job that makes the content of a page at a link.
PAGE = WorkKind("page", "The server puts this page together.", "The reader has gone to another page.", None, ())


@dataclass(frozen=True)
class Progress:
    """Progress of a job: its current stage, the finished share, 0 to 1, and the seconds since it began.

    The share is None where the amount of work is unknown.
    """

    stage: str
    share: float | None
    seconds: float

    @property
    def left(self) -> float | None:
        """Remaining seconds at the present rate; None where too little is done for an estimate."""
        share = self.share or 0
        return self.seconds * (1 - share) / share if share > 0.05 else None

    @property
    def sentence(self) -> str:
        """The stage, the share and the remaining time; without a known share, the stage and the time so far."""
        if self.share is None:
            return f"{self.stage}, {self.seconds:.0f} s so far."
        left = "" if self.left is None else f", about {max(1, round(self.left))} s left"
        return f"{self.stage}: {100 * self.share:.0f}%{left}."


class Job:
    """Work that a reader waits for; this base class is never cancelled and reports to nobody."""

    def begin(self, stage: str) -> None:
        """Note that the reader's turn has come; `stage` names the work that begins."""

    def watch(self, share: float, stage: str | None = None) -> None:
        """Note the finished share, 0 to 1, and a new `stage`, if any; raises where no reader waits any more."""

    @property
    def reader_left_or_cancelled(self) -> bool:
        """Whether the reader left or cancelled the job."""
        return False


class RequestJob(Job):
    """Work of a request without reported progress, such as a file; it ends where its reader has left."""

    def watch(self, share: float, stage: str | None = None) -> None:  # noqa: ARG002
        """Raise `ReaderLeft` where the reader has left."""
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
        """The jobs of a served store, in the folder of its server."""
        return cls(served_store.folder)

    def job(self, name: str, kind: WorkKind) -> "WatchedJob":
        """A job that a page waits for; `name` is from `new_name`."""
        return WatchedJob(self._folder, _checked(name), kind)

    def find(self, name: str) -> Progress | None:
        """Progress of a job; None where the job has not begun, or has ended."""
        try:
            noted = json.loads((self._folder / f"{_checked(name)}.progress").read_bytes())
        except FileNotFoundError:
            return None
        return Progress(noted["stage"], noted["share"], max(0.0, time.time() - noted["began"]))

    def waiting(self, name: str) -> str:
        """Message to a reader until it is their turn; empty where no reader waits for this job."""
        try:
            return (self._folder / f"{_checked(name)}.waits").read_text("utf-8")
        except FileNotFoundError:
            return ""

    def cancel(self, name: str) -> None:
        """Cancel a job that waits or works; no effect on an ended job."""
        if (self._folder / f"{_checked(name)}.waits").exists():
            write_whole(self._folder / f"{name}.cancel", b"")


class WatchedJob(Job):
    """A job with noted progress, which ends where its reader cancels it or leaves. A context manager: it removes the notes at exit."""

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
        """Note the time, the stage, and that the reader's turn has come."""
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
        return ReaderLeft(self._kind.cancelled)  # for other readers who wait for the same result

    def _note(self, share: float | None) -> None:
        self._noted = time.time()
        noted = {"stage": self._stage, "share": share, "began": self._began}
        write_whole(self._file("progress"), json.dumps(noted).encode())

    def _file(self, kind: str) -> Path:
        return self._folder / f"{self._name}.{kind}"


_CURRENT: ContextVar[Job | None] = ContextVar("job", default=None)


def current_job() -> Job:
    """The job that this thread works for; by default a `RequestJob`, which ends where the reader of the request has left."""
    return _CURRENT.get() or RequestJob()


def watched(items: Sequence[T], stage: str | None = None) -> Iterator[T]:
    """The items, for work on one after the other: the current job notes its progress at each, and ends where no reader waits.

    `stage` names the work, where it differs from the stage that began.
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
