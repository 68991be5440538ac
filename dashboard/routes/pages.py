"""A page as its browser asks for it: a link, and the snapshot that the tab stands at."""

from flask import Flask, Response, request
from plotly.io.json import to_json_plotly

from dashboard.web.library import Library
from dashboard.written import Asked, written


def register(server: Flask, library: Library) -> None:
    """Add the route. A form, not JSON: of a form nothing is nested, so that nothing of it can be malformed."""

    @server.post("/data/page")
    def page() -> Response:
        asked = Asked(*(request.form.get(name, "") for name in ("pathname", "search", "snapshot")))
        return Response(to_json_plotly(written(library, asked)), mimetype="application/json")
