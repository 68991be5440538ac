"""What a page says of a part of the store that is not there yet: how to get it, or that an ingest is under way."""

from dash import html

from dashboard.web.context import Context
from dashboard.web.errors import stage_line
from store.repository.errors import NotIngested

#: The part of the id of a line that follows the ingest; `app.py` fills it as often as a tab asks for newer snapshots.
UNDER_WAY = "under-way"
RUN = "Run `headscape ingest`."


def unmade(context: Context, missing: str, remedy: str = RUN, afterwards: str = "") -> list[object]:
    """What is not there, and how to get it: while an ingest runs, which may be making it, no second one can begin.

    `afterwards` says how to get it after that ingest.
    """
    running = context.ingest
    if running is None:
        return [f"{missing} {remedy}"]
    line = html.Span(stage_line(running), id={UNDER_WAY: "line"}, role="status")
    return [f"{missing} ", line, f" It appears here if that ingest makes and publishes it. {afterwards}".rstrip()]


def unmade_of(context: Context, error: NotIngested) -> list[object]:
    """The same for what the store says of it."""
    return unmade(context, error.missing, error.remedy)
