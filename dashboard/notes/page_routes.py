"""What pages read of notes: those on a target, those of a search, counts for marks, former texts and saved views.

A page names itself by its link, as in `/data/page`, in a form: a link can be too long for an address. Nothing is cached.
"""

from typing import Any

from flask import Flask, Response, jsonify, request

from dashboard.access.person import current_person
from dashboard.notes.listing import former_json, found_json, thread_json, view_json
from dashboard.notes.marks import marks_of
from dashboard.notes.notes import Notes
from dashboard.notes.search import Search
from dashboard.notes.target import ViewTarget, parse_target
from dashboard.notes.views import SavedViews
from dashboard.web.context import Context, resolve
from dashboard.web.library import Library
from dashboard.web.state import LinkState


def register(server: Flask, library: Library) -> None:
    """Add the routes."""
    _of_page(server, library)
    _of_list(server, library)


def _of_page(server: Flask, library: Library) -> None:
    notes = library.get(Notes)

    @server.post("/data/notes/marks")
    def marks_of_page() -> Response:
        context = _context(library)
        return _uncached(marks_of(context, notes.counts(context.corpus)))

    @server.post("/data/notes/on")
    def notes_of_page() -> Response:
        context, person = _context(library), current_person()
        key = request.form.get("target")
        target = parse_target(key) if key else ViewTarget.of(context.corpus, context.state)
        threads = [thread_json(thread, person) for thread in notes.of_target(target)]
        return _uncached({"notes": threads, "target": target.key, "writes": person.writes})

    @server.get("/data/notes/<name>/history")
    def former_texts(name: str) -> Response:
        return _uncached({"texts": [former_json(former) for former in reversed(notes.history(name))]})


def _of_list(server: Flask, library: Library) -> None:
    notes, views = library.get(Notes), library.get(SavedViews)

    @server.post("/data/notes/found")
    def notes_of_list() -> Response:
        context = _context(library)
        return _uncached(found_json(notes.find(_search_of(context.state)), context, current_person()))

    @server.post("/data/notes/views")
    def views_of_page() -> Response:
        context, person = _context(library), current_person()
        each = [view_json(view, context.snapshot, person) for view in views.of_corpus(context.corpus)]
        return _uncached({"views": each, "writes": person.writes})


def _context(library: Library) -> Context:
    """What the link of the page means, in the snapshot that its tab shows."""
    return resolve(library, *(request.form.get(name, "") for name in ("pathname", "search", "snapshot")))


def _search_of(state: LinkState) -> Search:
    return Search(
        text=state.containing or "",
        tag=state.tag or "",
        author=state.author or "",
        kind=state.about or "",  # type: ignore[arg-type]
        model=state.checkpoint or "",
        page=state.leaf,
    )


def _uncached(content: dict[str, Any]) -> Response:
    response = jsonify(content)
    response.headers["Cache-Control"] = "no-store"
    return response
