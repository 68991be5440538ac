"""Work that a part of a page waits for: its progress, Cancel, and what fills the part at the end.

Progress is in small files, as any process of the server may be asked for it.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

import dash_mantine_components as dmc
from dash import MATCH, Dash, Input, Output, State, dcc, html, set_props
from dash.exceptions import PreventUpdate

from dashboard.ui.markup import condensed
from dashboard.ui.page import problem
from dashboard.ui.text import with_commands
from dashboard.web.admission import cancelled_by, reader_left, steps_told_to
from dashboard.web.context import Context, resolve
from dashboard.web.errors import NotYet, ReaderLeft, Refusal
from dashboard.web.http import STANDING, Named, Shown, Text, snapshot_of, validated
from dashboard.web.library import Library
from dashboard.web.processes import write_whole
from dashboard.web.responses import for_one_reader

T = TypeVar("T")
#: Seconds between two notes of how far a job is.
PAUSE = 0.1
_NAME = re.compile(r"[0-9a-f]{16}")
#: Milliseconds between two updates of the progress; most jobs end before the first.
TICK = 300
#: The kind of each element of a wait, in its id beside the name of the job.
STATE, CLOCK, CANCEL, LATER = "state", "clock", "cancel", "later"
#: Milliseconds until a page asks again for what a busy server could not give.
LATER_PAUSE = 2_000


@dataclass(frozen=True)
class Kind:
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
PAGE = Kind("page", "The server puts this page together.", "The reader has gone to another page.", None, ())


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


class JobNotes:
    """Notes on the jobs that pages wait for, in a folder that all processes of the server share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def of(cls, library: Library) -> "JobNotes":
        """Those of a library, in the folder of its server."""
        return cls(library.folder)

    def job(self, name: str, kind: Kind) -> "WatchedJob":
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

    def __init__(self, folder: Path, name: str, kind: Kind) -> None:
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
        if is_new or time.time() - self._noted >= PAUSE:
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
    """The job that this thread works for; outside of any, one that is never ended."""
    return _CURRENT.get() or Job()


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


def job_place(kind: Kind, height: int = 0, skeleton: Sequence[Any] = ()) -> html.Div:
    """The placeholder of what a job makes, of at least this height; the callbacks below fill it and show the progress."""
    name = new_name()
    waits = [
        html.Div(html.P(kind.waiting), id=_id(STATE, name), role="status"),
        dmc.Button("Cancel", id=_id(CANCEL, name), size="compact-xs", variant="default", className="cancel"),
        dcc.Interval(id=_id(CLOCK, name), interval=TICK),
        dcc.Interval(id=_id(LATER, name), interval=LATER_PAUSE, max_intervals=0),
        *skeleton,
    ]
    fields: dict[str, Any] = {"data-fields": " ".join(kind.fields)}  # assets/web/follow.mjs
    return html.Div(waits, id=_id(kind.place, name), className="job", style={"minHeight": height}, **fields)


def register(app: Dash, library: Library, works: Mapping[Kind, Callable[[Context, Job], list[object]]]) -> None:
    """Add the callbacks. They find a job by its name: another process of the server may be the one that works."""
    for kind, work in works.items():
        _fill(app, library, kind, work)
    _follow(app, library)


def _fill(app: Dash, library: Library, kind: Kind, work: Callable[[Context, Job], list[object]]) -> None:
    @app.callback(
        Output(_id(kind.place, MATCH), "children"),
        Input(_id(kind.place, MATCH), "id"),
        Input(_id(LATER, MATCH), "n_intervals"),
        State(_id(CANCEL, MATCH), "disabled"),
        *STANDING,
    )
    @validated
    def fill(
        job: Named,
        asked: int | None,
        is_cancelled: bool | None,
        pathname: Text | None,
        search: Text | None,
        shown: Shown | None,
    ) -> list[object]:
        try:
            if is_cancelled:  # while the page waited to ask again
                raise ReaderLeft(kind.cancelled)
            with library.get(JobNotes).job(job.name, kind) as watched:
                context = resolve(library, pathname, search, snapshot_of(shown))
                return condensed(work(context, watched), kind.place)
        except NotYet as later:
            _ask_later(job.name, str(later), (asked or 0) + 1)
            raise PreventUpdate from later
        except Refusal as refusal:
            return _not_done(str(refusal), kind, f"{pathname or ''}{search or ''}")
        except Exception as error:
            return [problem(error)]


def _follow(app: Dash, library: Library) -> None:
    @app.callback(
        Output(_id(STATE, MATCH), "children"),
        Input(_id(CLOCK, MATCH), "n_intervals"),
        State(_id(CLOCK, MATCH), "id"),
        prevent_initial_call=True,
    )
    @validated
    def look(_ticks: int | None, job: Named) -> list[object]:
        notes = library.get(JobNotes)
        if (progress := notes.find(job.name)) is not None:
            return progress_lines(progress)
        if not (waiting := notes.waiting(job.name)):  # the page is about to ask again
            raise PreventUpdate
        return [html.P(waiting)]

    @app.callback(
        Output(_id(CANCEL, MATCH), "disabled"),
        Input(_id(CANCEL, MATCH), "n_clicks"),
        State(_id(CANCEL, MATCH), "id"),
        prevent_initial_call=True,
    )
    @validated
    def cancel(clicks: int | None, job: Named) -> bool:
        if clicks:
            library.get(JobNotes).cancel(job.name)
        return bool(clicks)


def _id(kind: str, name: Any) -> dict[str, Any]:
    """The id of an element of a job by its name, or of any job by Dash's wildcard."""
    return {"job": kind, "name": name}


def progress_lines(progress: Progress) -> list[object]:
    """How far a job is, with a bar where its share is known."""
    line = html.P(progress.sentence)
    if progress.share is None:
        return [line]
    return [line, dmc.Progress(value=100 * progress.share, **{"aria-label": "Progress"})]


def asks_again(reason: str) -> str:
    """What keeps a page waiting, without the advice to try again: the page does."""
    return f"{reason.partition(' Try again')[0]} This page asks again by itself."


def _ask_later(name: str, reason: str, times: int) -> None:
    """Say what keeps the page waiting, and let it ask again; its skeleton and Cancel stay."""
    set_props(_id(STATE, name), {"children": [html.P(asks_again(reason))]})
    set_props(_id(LATER, name), {"max_intervals": times})


def _not_done(reason: str, kind: Kind, href: str) -> list[object]:
    """Why the part is not there, and a link that starts the job again."""
    again = [" ", html.A(kind.again, href=href)] if kind.again else []
    return [dmc.Alert([*with_commands(reason), *again], color="orange", variant="light")]
