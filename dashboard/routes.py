"""Bytes, cards and files by HTTP. Every URL names its snapshot, so a response never mixes two and never changes."""

from flask import Flask, Response, request
from plotly.io.json import to_json_plotly

from dashboard.compare import routes as comparison
from dashboard.features import routes as features
from dashboard.head_map import routes as head_map
from dashboard.points import routes as points
from dashboard.sentence import routes as sentences
from dashboard.statistics import routes as statistics
from dashboard.ui.files import LIBRARY
from dashboard.web import assets, http
from dashboard.web.library import Library
from dashboard.written import Asked, written


def register(server: Flask, library: Library) -> None:
    """Add the data routes to the server."""
    server.extensions[LIBRARY] = library
    for part in (
        assets,
        points,
        features,
        statistics,
        head_map,
        sentences,
        comparison,
        http,
    ):
        part.register(server, library)
    _pages(server, library)


def _pages(server: Flask, library: Library) -> None:
    """A page as its browser asks for it: a form, not JSON, as of a form nothing is nested, so that nothing is malformed."""

    @server.post("/data/page")
    def page() -> Response:
        asked = Asked(*(request.form.get(name, "") for name in ("pathname", "search", "snapshot")))
        return Response(to_json_plotly(written(library, asked)), mimetype="application/json")
