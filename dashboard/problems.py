"""What a reader sees when something cannot be shown: one sentence that ends with what to do next, never a traceback."""

import logging

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from store import StoreError
from store.damage import is_damage
from store.errors import StoreCorrupt, StoreUnreachable

UNREADABLE = (
    "This part of the store cannot be read. Run `make verify` to see what is corrupt, then ingest into another place."
)
UNEXPECTED = "Something went wrong on the server; its log says what. Reload the page, or go back to the first page."
#: Seconds after which a busy server may be asked again.
RETRY_AFTER = 5

log = logging.getLogger("headscape")


class Refusal(Exception):
    """What a reader asks for is not done; the sentence ends with what to do next, the HTTP status says whose turn it is."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


class ReaderLeft(Refusal):
    """What was asked for by a reader who has left. Nobody reads it, but the log; the status is nginx's for a closed connection."""

    def __init__(self, sentence: str = "The reader left before the answer was there. Ask again.") -> None:
        super().__init__(sentence, 499)


def sentence_for(error: Exception) -> tuple[str, int]:
    """The sentence and the HTTP status for an error."""
    if isinstance(error, StoreError):
        return str(error), 503 if isinstance(error, (StoreCorrupt, StoreUnreachable)) else 404
    if isinstance(error, Refusal):
        return str(error), error.status
    if isinstance(error, HTTPException):
        return str(error.description), error.code or 400
    log.exception("could not answer", exc_info=error)
    return UNREADABLE if is_damage(error) else UNEXPECTED, 503


def register(server: Flask) -> None:
    """Answer every error of a route with its sentence as plain text."""

    @server.errorhandler(Exception)
    def answer(error: Exception) -> Response:
        sentence, status = sentence_for(error)
        response = Response(sentence, status, mimetype="text/plain")
        if status == 503:
            response.headers["Retry-After"] = str(RETRY_AFTER)
        return response
