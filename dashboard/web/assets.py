"""Our own scripts and styles: an address that says when its file changed is never asked for again."""

from flask import Flask, Response, request

from dashboard.web.http import lasting
from dashboard.web.library import Library


def register(server: Flask, _library: Library) -> None:
    """Let browsers keep what has a date in its address; Flask would have them ask for every script on every page."""
    server.after_request(_dated)


def _dated(response: Response) -> Response:
    dated = request.path.startswith("/assets/") and "m" in request.args
    return lasting(response) if dated and response.status_code == 200 else response
