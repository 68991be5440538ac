"""What pages read of notes: those on a target, those of a search, counts for marks, former texts and saved views.

A page names itself by its link, as in `/data/page`, in a form: a link can be too long for an address. Nothing is cached. Where
the database cannot be used, the answer is a sentence with status 200: a browser would log every other status as an error.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from flask import Flask, Response, jsonify, request

from dashboard.access.person import Person, current_person
from dashboard.notes.database import Database
from dashboard.notes.failures import WRITING_OFF, NotesUnavailable
from dashboard.notes.listing import former_json, found_json, thread_json, view_json
from dashboard.notes.marks import marks_of
from dashboard.notes.notes import Notes
from dashboard.notes.search import Search
from dashboard.notes.target import ViewTarget, parse_target
from dashboard.notes.views import SavedViews
from dashboard.web.context import Context, resolve
from dashboard.web.library import Library
from dashboard.web.state import LinkState

Answer = Callable[..., dict[str, Any]]


def register(server: Flask, library: Library) -> None:
    """Add the routes."""
    _of_page(server, library)
    _of_list(server, library)


def _of_page(server: Flask, library: Library) -> None:
    notes = library.get(Notes)

    @server.post("/data/notes/marks")
    @_uncached
    def marks_of_page() -> dict[str, Any]:
        context = _context(library)
        return marks_of(context, notes.counts(context.corpus))

    @server.post("/data/notes/on")
    @_uncached
    def notes_of_page() -> dict[str, Any]:
        context, person = _context(library), _person(library)
        key = request.form.get("target")
        target = parse_target(key) if key else ViewTarget.of(context.corpus, context.state)
        threads = [thread_json(thread, person) for thread in notes.of_target(target)]
        return {"notes": threads, "target": target.key, "writes": person.writes, **_off(library)}

    @server.get("/data/notes/<name>/history")
    @_uncached
    def former_texts(name: str) -> dict[str, Any]:
        return {"texts": [former_json(former) for former in reversed(notes.history(name))]}


def _of_list(server: Flask, library: Library) -> None:
    notes, views = library.get(Notes), library.get(SavedViews)

    @server.post("/data/notes/found")
    @_uncached
    def notes_of_list() -> dict[str, Any]:
        context = _context(library)
        return found_json(notes.find(_search_of(context.state)), context.snapshot, _person(library))

    @server.post("/data/notes/views")
    @_uncached
    def views_of_page() -> dict[str, Any]:
        context, person = _context(library), _person(library)
        every = [view_json(view, context.snapshot, person) for view in views.of_corpus(context.corpus)]
        return {"views": every, **_off(library)}


def _context(library: Library) -> Context:
    """What the link of the page means, in the snapshot that its tab shows."""
    return resolve(library, *(request.form.get(name, "") for name in ("pathname", "search", "snapshot")))


def _person(library: Library) -> Person:
    """Who sends the request; a reader where nobody can write."""
    person = current_person()
    return replace(person, role="reader") if library.get(Database).is_read_only else person


def _off(library: Library) -> dict[str, str]:
    """Why who may write cannot; nothing for a reader, to whom no page offers it."""
    off = library.get(Database).is_read_only and current_person().writes
    return {"off": WRITING_OFF} if off else {}


def _search_of(state: LinkState) -> Search:
    return Search(
        text=state.containing or "",
        tag=state.tag or "",
        author=state.author or "",
        kind=state.about or "",  # type: ignore[arg-type]
        model=state.checkpoint or "",
        page=state.leaf,
    )


def _uncached(answer: Answer) -> Callable[..., Response]:
    @wraps(answer)
    def respond(**named: str) -> Response:
        try:
            content = answer(**named)
        except NotesUnavailable as error:
            content = {"problem": str(error)}
        response = jsonify(content)
        response.headers["Cache-Control"] = "no-store"
        return response

    return respond
