"""Whether the reader who asked is still there, so that nothing is computed for nobody."""

import socket
from collections.abc import Mapping
from typing import Any

from flask import has_request_context, request

#: Where the servers put a request's connection.
SOCKETS = ("gunicorn.socket", "werkzeug.socket")


def asker_gone() -> bool:
    """Whether the client of the request that this thread answers has closed its connection; False where it answers none."""
    return has_request_context() and reader_gone(request.environ)


def reader_gone(environ: Mapping[str, Any]) -> bool:
    """Whether the client of a WSGI request has closed its connection.

    A look at the next byte without taking it and without waiting (recv(2), MSG_PEEK and MSG_DONTWAIT): none at all means
    that the other end is closed, one is the client's next request. False where the server hands out no socket.
    """
    connection = next((environ[name] for name in SOCKETS if name in environ), None)
    if connection is None:
        return False
    try:
        return bool(connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"")
    except BlockingIOError:  # nothing has come, and nothing has ended
        return False
    except OSError:  # reset
        return True
