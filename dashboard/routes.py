"""Data routes: bytes, cards, files, pages. Every URL of data names its snapshot, so its response never changes."""

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from urllib.parse import parse_qsl

from flask import Flask, Response, jsonify, request
from plotly.io.json import to_json_plotly

from dashboard.access.person import current_person
from dashboard.pages import TabLink, page_content
from dashboard.topics import TOPICS
from dashboard.ui.files import LIBRARY
from dashboard.ui.job import PAGE as PAGE_JOB
from dashboard.ui.job import JobNotes
from dashboard.web import assets, http
from dashboard.web.library import Library
from dashboard.web.paths import first_page, page_name
from dashboard.web.responses import share

#: The URL of the content of pages.
PAGE = "/data/page"
#: The URL of how far the server is with a page, for the browser that waits for it.
PROGRESS = f"{PAGE}/progress"


def register(server: Flask, library: Library) -> None:
    """Add the data routes to the server."""
    server.extensions[LIBRARY] = library
    of_topics = (routes for topic in TOPICS.values() for routes in topic.routes)
    for routes in (assets.register, *of_topics, http.register):
        routes(server, library)
    _pages(server, library)


def _pages(server: Flask, library: Library) -> None:
    """The content of a page. The request is a form, not JSON: a form has nothing nested that could be malformed."""

    @server.post(PAGE)
    def page() -> Response:
        link = _tab_link()
        with _noted(library):
            content = page_content(library, link)
        if _is_shared(content.get("shown"), link, library.newest):
            share()
        return Response(to_json_plotly(content), mimetype="application/json")

    @server.post(PROGRESS)
    def progress() -> Response:
        found = library.get(JobNotes).find(request.form.get("wait", ""))
        return jsonify({"said": found and found.sentence})


def _noted(library: Library) -> AbstractContextManager[object]:
    """Notes how far the page is, under the name that its browser asks by; nothing where it names none."""
    wait = request.form.get("wait")
    return library.get(JobNotes).job(wait, PAGE_JOB) if wait else nullcontext()


def _is_shared(shown: Mapping[str, object] | None, link: TabLink, newest: str) -> bool:
    """Whether the page depends on its link alone, and no other link shows it: each field has the value that the page shows."""
    if shown is None or _changes(str(shown["path"])) or shown["snapshot"] != newest:
        return False
    written = _fields(link)
    is_own = link.pathname == shown["path"] and link.snapshot in ("", newest)
    is_completed = "written" in shown and len(written) > 1  # the browser compares the whole link
    each_once = len(dict(written)) == len(written)
    return is_own and not is_completed and each_once and all(str(shown.get(name, "")) == text for name, text in written)


def _changes(path: str) -> bool:
    """Whether the page of a link that was shown depends on more than the link."""
    return TOPICS[page_name(path) or first_page()].changes


def _fields(link: TabLink) -> list[tuple[str, str]]:
    return sorted(parse_qsl(link.search.lstrip("?"), keep_blank_values=True))


def page_key(library: Library) -> str | None:
    """What a page depends on; None for another request, and while an ingest runs, whose progress pages show.

    The newest snapshot is a part of it: an older one may be deleted at any time, so its pages are not shared.
    """
    if request.path != PAGE or request.method != "POST" or library.ingest is not None:
        return None
    link = _tab_link()
    return json.dumps([PAGE, library.newest, current_person().role, link.pathname, _fields(link), link.snapshot])


def _tab_link() -> TabLink:
    return TabLink(*(request.form.get(name, "") for name in ("pathname", "search", "snapshot")))
