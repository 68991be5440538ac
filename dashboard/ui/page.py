"""The parts of a page, and what it says of something that the store does not have yet: how to get it, or that an ingest is under way."""

from dataclasses import dataclass, field
from typing import Any

import dash_mantine_components as dmc
from dash import html

from dashboard.ui.text import with_commands
from dashboard.web.errors import sentence_for, stage_line
from dashboard.web.responses import for_one_reader
from store.repository.errors import NotIngested
from store.repository.ingest_status import IngestProgress


@dataclass(frozen=True)
class Page:
    """Parts of a page around the one canvas that all pages share.

    `notices` are sentences about what of the link could not be followed.
    """

    above: list[object] = field(default_factory=list)
    beside: list[object] = field(default_factory=list)
    below: list[object] = field(default_factory=list)
    notices: tuple[str, ...] = ()


def without_picture(running: IngestProgress | None, title: str) -> Page:
    """A page whose model has no picture yet: how to get one."""
    alert = dmc.Alert(unmade(running, "This model has no picture yet."), color="blue", variant="light")
    return Page(above=[html.H1(title), alert])


def problem(error: Exception) -> dmc.Alert:
    """Why a part of a page, or the page, cannot be shown."""
    for_one_reader()  # the next one may get it
    sentence, _ = sentence_for(error)
    return dmc.Alert(with_commands(sentence), color="red", title="This cannot be shown", className="problem")


#: The part of the id of a line that follows the ingest; `pages.py` fills it as often as a tab asks for newer snapshots.
UNDER_WAY = "under-way"
#: Its value on page Store, which also says where no ingest runs.
STORE = "store"
RUN = "Run `headscape ingest`."


def unmade(running: IngestProgress | None, missing: str, remedy: str = RUN, afterwards: str = "") -> list[object]:
    """What is not there, and how to get it: while an ingest runs, which may be making it, no second one can begin.

    `afterwards` says how to get it after that ingest.
    """
    if running is None:
        return [*with_commands(f"{missing} {remedy}")]
    line = html.Span(stage_line(running), id={UNDER_WAY: "line"}, role="status")
    after = f" It appears here if that ingest makes and publishes it. {afterwards}".rstrip()
    return [*with_commands(f"{missing} "), line, *with_commands(after)]


@dataclass(frozen=True)
class Unmade:
    """What is not there, how to get it, and the ingest under way, which may be making it."""

    missing: str
    remedy: str
    running: IngestProgress | None

    @classmethod
    def of(cls, error: NotIngested, running: IngestProgress | None) -> "Unmade":
        """What the store says of it."""
        return cls(error.missing, error.remedy, running)

    @property
    def text(self) -> list[object]:
        """The same in words, see `unmade`."""
        return unmade(self.running, self.missing, self.remedy)


def unmade_line(what: Unmade) -> html.P:
    """The same as a line of its own, below a heading."""
    line: list[Any] = what.text
    return html.P(line, className="unmade")


def ingest_state(running: IngestProgress | None) -> list[object]:
    """The ingest that runs now, with its stage, the time left and a bar; or that none runs."""
    if running is None:
        return [html.P("No ingest is running.")]
    share = running.share
    bar = dmc.Progress(value=100 * (share or 0), size="sm", **{"aria-label": "Progress of the stage"})
    return [html.P(stage_line(running)), bar]


def under_way(running: IngestProgress | None, place: object) -> object:
    """What the part of a page with the id `place` says of the ingest."""
    return ingest_state(running) if place == {UNDER_WAY: STORE} else stage_line(running)
