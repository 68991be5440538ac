"""Messages to a reader when a page or part cannot be shown: what is wrong, then what to do; never a traceback."""

import logging

from dash.exceptions import DependencyException
from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from store import StoreError
from store.repository.errors import StoreCorrupt, StoreUnreachable
from store.repository.ingest_status import IngestProgress
from store.repository.zarr_internals import is_damage

UNREADABLE = "This part of the store cannot be read. Run `headscape verify` to see what is corrupt, then ingest into another place."
NO_SCRIPT = "This script does not exist. Reload the page."
UNEXPECTED = "The server failed; its log has the error. Reload the page, or go back to the first page."
#: Seconds after which a browser may try a busy server again.
RETRY_AFTER = 5
#: The status of nginx for a client that closed the connection; nobody reads the answer.
READER_LEFT = 499

log = logging.getLogger("headscape")


class Refusal(Exception):
    """A request that is refused, with a message that ends with what to do next, and an HTTP status."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status

    @property
    def is_of_request(self) -> bool:
        """Whether the request itself is at fault, such as a text without a word: its repetition would be refused again."""
        return self.status == 400


class ReaderLeft(Refusal):
    """The reader has left, so the computation stops."""

    def __init__(self, sentence: str = "The reader left before the answer was ready. Try again.") -> None:
        super().__init__(sentence, READER_LEFT)


class NotYet(Refusal):
    """The answer takes longer than a request may wait: a page asks again by itself."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, 503)


def sentence_for(error: Exception) -> tuple[str, int]:
    """The message and the HTTP status of an error."""
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
    """The remedy for a missing part; while an ingest runs, its progress instead, as no other ingest can begin."""
    return remedy if running is None else stage_line(running)


def stage_line(running: IngestProgress | None) -> str:
    """Progress of the ingest as a sentence."""
    if running is None:
        return "The ingest has ended."
    share = "" if running.share is None else f", {100 * running.share:.0f}%"
    left = "" if running.left is None else f", about {_duration(running.left)} left in this stage"
    return f"An ingest of {running.of} is under way: {running.stage or 'starting'}{share}{left}."


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def register(server: Flask) -> None:
    """Answer every error of a route with its message as plain text."""

    @server.errorhandler(Exception)
    def answer(error: Exception) -> Response:
        sentence, status = sentence_for(error)
        _log_refusal(sentence, status)
        response = Response(sentence, status, mimetype="text/plain")
        if status == 503:
            response.headers["Retry-After"] = str(RETRY_AFTER)
        return response


def _log_refusal(sentence: str, status: int) -> None:
    """Log a refusal in one line. An unexpected error was logged before, with its traceback."""
    kind = f"{status} {request.endpoint}"
    if status != READER_LEFT and sentence not in (UNEXPECTED, UNREADABLE):
        log.warning("%d for %s %s: %s", status, request.method, request.path[:120], sentence, extra={"kind": kind})
