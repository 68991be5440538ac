"""Whether the reader who asked is still there, so that nothing is computed for nobody."""

from collections.abc import Callable, Mapping
from typing import Any

from flask import has_request_context, request

#: Where waitress puts a function that says whether the client has closed the connection.
DISCONNECTED = "waitress.client_disconnected"


def asker_gone() -> bool:
    """Whether the client of the request that this thread answers has closed its connection; False where it answers none."""
    return has_request_context() and reader_gone(request.environ)


def reader_gone(environ: Mapping[str, Any]) -> bool:
    """Whether the client of a WSGI request has closed its connection; False where the server does not know."""
    disconnected: Callable[[], bool] | None = environ.get(DISCONNECTED)
    return disconnected is not None and disconnected()
