"""What a page says of a part of the store that is not there yet: how to get it, or that an ingest is under way."""

from typing import TYPE_CHECKING

from dash import html

from store.errors import NotIngested
from store.repository.progress import IngestProgress

if TYPE_CHECKING:
    from dashboard.web.context import Context

#: The part of the id of a line that follows the ingest; `app.py` fills it as often as a tab asks for newer snapshots.
UNDER_WAY = "under-way"
RUN = "Run `make ingest`."


def unmade(context: "Context", missing: str, remedy: str = RUN) -> list[object]:
    """What is not there, and how to get it: an ingest that is running may be making it, and no second one can begin."""
    running = context.ingest
    if running is None:
        return [f"{missing} {remedy}"]
    line = html.Span(stage_line(running), id={UNDER_WAY: "line"}, role="status")
    return [f"{missing} ", line, " If that ingest makes it, this page shows it once it is published."]


def unmade_of(context: "Context", error: NotIngested) -> list[object]:
    """The same for what the store says of it."""
    return unmade(context, error.missing, error.remedy)


def what_to_do(running: IngestProgress | None, remedy: str) -> str:
    """How to get it, in a notice: how far the ingest is where one runs, as no second one can begin."""
    return remedy if running is None else stage_line(running)


def stage_line(running: IngestProgress | None) -> str:
    """A sentence on how far the ingest is."""
    if running is None:
        return "The ingest has ended."
    share = "" if running.share is None else f", {100 * running.share:.0f} %"
    left = "" if running.left is None else f", about {_duration(running.left)} left in this stage"
    return f"An ingest of {running.of} is under way: {running.stage or 'starting'}{share}{left}."


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
