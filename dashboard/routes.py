"""Data routes: bytes, cards, files, pages. Every URL of data names its snapshot, so its response never changes."""

from flask import Flask, Response, request
from plotly.io.json import to_json_plotly

from dashboard.compare import routes as comparison
from dashboard.features import routes as features
from dashboard.head_map import routes as head_map
from dashboard.notes import page_routes as notes_of_pages
from dashboard.notes import routes as notes
from dashboard.pages import TabLink, page_content
from dashboard.points import routes as points
from dashboard.relations import routes as relations
from dashboard.sentence import routes as sentences
from dashboard.statistics import routes as statistics
from dashboard.ui.files import LIBRARY
from dashboard.web import assets, http
from dashboard.web.library import Library


def register(server: Flask, library: Library) -> None:
    """Add the data routes to the server."""
    server.extensions[LIBRARY] = library
    for part in (
        assets,
        points,
        features,
        statistics,
        head_map,
        relations,
        sentences,
        comparison,
        notes_of_pages,
        notes,
        http,
    ):
        part.register(server, library)
    _pages(server, library)


def _pages(server: Flask, library: Library) -> None:
    """The content of a page. The request is a form, not JSON: a form has nothing nested that could be malformed."""

    @server.post("/data/page")
    def page() -> Response:
        link = TabLink(*(request.form.get(name, "") for name in ("pathname", "search", "snapshot")))
        return Response(to_json_plotly(page_content(library, link)), mimetype="application/json")
