"""Watches every request: gives it an id, measures its answer, and notes it in the metrics and in the access log."""

import re
from collections.abc import Callable, Iterable, Iterator
from secrets import token_hex
from time import perf_counter
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, request
from werkzeug.wsgi import ClosingIterator

from dashboard.access.person import current_person
from dashboard.monitoring.logs import REQUEST_ID, AccessLog, Entry
from dashboard.monitoring.metrics import Metrics
from dashboard.web.addresses import CLIENT, AddressList, peer_of
from dashboard.web.admission import metered_by

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

#: Keys of the WSGI environment: the name of the route, and of the person who sends the request.
ROUTE, USER = "headscape.route", "headscape.user"
#: The route of what no route answers.
NO_ROUTE = "none"
HEADER = "X-Request-ID"
NO_PROXIES = AddressList()
#: An id that a proxy may give.
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class WatchedApplication:
    """An application whose requests are watched; `proxies` are the peers whose ids of requests are kept."""

    def __init__(
        self, application: "WSGIApplication", metrics: Metrics, log: AccessLog | None, proxies: AddressList = NO_PROXIES
    ) -> None:
        self._application, self._metrics, self._log, self._proxies = application, metrics, log, proxies

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Answer a request."""
        environ[REQUEST_ID] = self._id(environ)
        answer = WatchedAnswer(environ[REQUEST_ID], start_response)
        try:
            with metered_by(self._metrics):
                chunks = self._application(environ, answer.start)
        except BaseException:
            self._note(environ, answer)
            raise
        if answer.length is not None:
            self._note(environ, answer)
            return chunks
        return ClosingIterator(answer.counted(chunks), [lambda: self._note(environ, answer), *_closing(chunks)])

    def _id(self, environ: "WSGIEnvironment") -> str:
        given = environ.get("HTTP_X_REQUEST_ID", "")
        return given if peer_of(environ) in self._proxies and _ID.fullmatch(given) else token_hex(8)

    def _note(self, environ: "WSGIEnvironment", answer: "WatchedAnswer") -> None:
        seconds, route = perf_counter() - answer.began, environ.get(ROUTE, NO_ROUTE)
        method = environ["REQUEST_METHOD"]
        self._metrics.answered(route, method, answer.status, seconds)
        if self._log is not None:
            entry = Entry(
                id=environ[REQUEST_ID],
                user=environ.get(USER, ""),
                peer=environ.get(CLIENT, ""),
                method=method,
                route=route,
                path=environ.get("PATH_INFO", ""),
                status=answer.status,
                milliseconds=round(1000 * seconds, 1),
                bytes=answer.sent if answer.length is None else answer.length,
            )
            self._log.write(entry)


class WatchedAnswer:
    """What is known of an answer: its status, and the length of its body, which is counted where no header says it."""

    def __init__(self, request_id: str, start_response: "StartResponse") -> None:
        self.began = perf_counter()
        self.status = 500
        self.length: int | None = None
        self.sent = 0
        self._id, self._start = request_id, start_response

    def start(self, status: str, headers: list[tuple[str, str]], *error: Any) -> Callable[[bytes], object]:
        """Begin the answer; its headers get the id of the request."""
        self.status = int(status[:3])
        lengths = [value for name, value in headers if name.lower() == "content-length"]
        self.length = int(lengths[0]) if lengths else None
        return self._start(status, [*headers, (HEADER, self._id)], *error)

    def counted(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same chunks; their bytes are counted."""
        for chunk in chunks:
            self.sent += len(chunk)
            yield chunk


def _closing(chunks: Iterable[bytes]) -> list[Callable[[], None]]:
    close = getattr(chunks, "close", None)
    return [close] if close else []


def name_requests(server: Flask) -> None:
    """Note the route and the sender of every request, for whom watches them."""

    def note(response: Response) -> Response:
        request.environ[ROUTE] = request.endpoint or NO_ROUTE
        request.environ[USER] = current_person().name
        return response

    server.after_request(note)


def watch_requests(server: Flask, metrics: Metrics, log_file: str, proxies: AddressList = NO_PROXIES) -> None:
    """Watch the requests of a server from now on."""
    log = AccessLog(log_file) if log_file else None
    server.wsgi_app = WatchedApplication(server.wsgi_app, metrics, log, proxies)  # type: ignore[method-assign]
