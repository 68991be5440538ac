"""What a reader sees when something cannot be shown: one sentence that ends with what to do next, never a traceback."""

import logging

from dash.exceptions import DependencyException
from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from store import StoreError
from store.errors import StoreCorrupt, StoreUnreachable
from store.repository.progress import IngestProgress
from store.repository.zarr_internals import is_damage

UNREADABLE = (
    "This part of the store cannot be read. Run `make verify` to see what is corrupt, then ingest into another place."
)
NO_SCRIPT = "There is no such script. Reload the page."
UNEXPECTED = "Something went wrong on the server; its log says what. Reload the page, or go back to the first page."
#: Seconds after which a busy server may be asked again.
RETRY_AFTER = 5
#: nginx's status for a client that closed the connection. Nobody reads the answer.
READER_LEFT = 499

log = logging.getLogger("headscape")


class Refusal(Exception):
    """What a reader asks for is not done; the sentence ends with what to do next, the HTTP status says whose turn it is."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


class ReaderLeft(Refusal):
    """What was asked for by a reader who has left. Nobody reads it."""

    def __init__(self, sentence: str = "The reader left before the answer was there. Ask again.") -> None:
        super().__init__(sentence, READER_LEFT)


def sentence_for(error: Exception) -> tuple[str, int]:
    """The sentence and the HTTP status for an error."""
    if isinstance(error, StoreError):
        return str(error), 503 if isinstance(error, (StoreCorrupt, StoreUnreachable)) else 404
    if isinstance(error, Refusal):
        return str(error), error.status
    if isinstance(error, HTTPException):
        return str(error.description), error.code or 400
    if isinstance(error, DependencyException):  # Dash's, where a request names a script that it does not serve
        return NO_SCRIPT, 404
    log.exception("could not answer", exc_info=error)
    return UNREADABLE if is_damage(error) else UNEXPECTED, 503


def remedy_text(running: IngestProgress | None, remedy: str) -> str:
    """What to do about something that is not there; while an ingest runs, no other can begin, so how far it is."""
    return remedy if running is None else stage_line(running)


def stage_line(running: IngestProgress | None) -> str:
    """How far the ingest is."""
    if running is None:
        return "The ingest has ended."
    share = "" if running.share is None else f", {100 * running.share:.0f} %"
    left = "" if running.left is None else f", about {_duration(running.left)} left in this stage"
    return f"An ingest of {running.of} is under way: {running.stage or 'starting'}{share}{left}."


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def register(server: Flask) -> None:
    """Answer every error of a route with its sentence as plain text."""

    @server.errorhandler(Exception)
    def answer(error: Exception) -> Response:
        sentence, status = sentence_for(error)
        _log_refusal(sentence, status)
        response = Response(sentence, status, mimetype="text/plain")
        if status == 503:
            response.headers["Retry-After"] = str(RETRY_AFTER)
        return response


def _log_refusal(sentence: str, status: int) -> None:
    """A line on what was refused. An error of ours has been logged already, with its traceback."""
    kind = f"{status} {request.endpoint}"
    if status != READER_LEFT and sentence not in (UNEXPECTED, UNREADABLE):
        log.warning("%d for %s %s: %s", status, request.method, request.path[:120], sentence, extra={"kind": kind})
