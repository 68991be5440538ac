"""Notes and saved views as JSON under `/api`. The gate names the person; a person who may only read gets status 403."""

from dataclasses import asdict
from typing import Any, TypeVar

from flask import Flask, Response, request
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from dashboard.access.person import current_person
from dashboard.notes.database import Database
from dashboard.notes.exchange import export_notes, import_notes
from dashboard.notes.note import FormerText, Note, SavedView, Thread, checked_draft
from dashboard.notes.notes import Notes, SavedViews
from dashboard.notes.search import Order, Search
from dashboard.notes.target import KINDS, Kind, Opened, link_to, parse_target
from dashboard.web.connections import BODY
from dashboard.web.errors import Refusal
from dashboard.web.http import Text, bounded
from dashboard.web.served_store import ServedStore
from store import Corpus

B = TypeVar("B", bound=BaseModel)
TOO_LARGE = "The file is larger than 1 MiB. Ask who runs the server to run `headscape notes import FILE`."


class Body(BaseModel):
    """The JSON body of a request."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Written(Body):
    """A text with its tags; with the id that the browser gave it, a request that is sent twice writes one note."""

    text: Text
    tags: list[Text] = []
    id: Text | None = None


class OnTarget(Written):
    """A note on the target of a key, in a snapshot and of a model."""

    target: Text
    snapshot: Text | None = None
    model: Text | None = None


class Edit(Body):
    """A text that replaces a version of a note."""

    version: int
    text: Text
    tags: list[Text] = []


class NamedLink(Body):
    """A link to save under a name."""

    name: Text
    link: Text
    snapshot: Text | None = None
    model: Text | None = None
    id: Text | None = None


class NewName(Body):
    """A new name for a saved view."""

    name: Text


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the routes."""
    _read_notes(server, served_store)
    _write_notes(server, served_store)
    _saved_views(server, served_store)
    _files(server, served_store)


def _read_notes(server: Flask, served_store: ServedStore) -> None:
    notes = served_store.service(Notes)

    @server.get("/api/notes")
    def found_notes() -> Response:
        results = notes.find(_search())
        fields = {"total": results.total, "page": results.page, "pages": results.pages}
        return _answer(fields | {"notes": [_note(note, served_store) for note in results.notes]})

    @server.get("/api/notes/on")
    def notes_on_target() -> Response:
        threads = notes.of_target(parse_target(request.args.get("target", "")))
        return _answer({"threads": [_thread(thread, served_store) for thread in threads]})

    @server.get("/api/notes/<name>/history")
    def history_of_note(name: str) -> Response:
        return _answer({"texts": [_former(former) for former in notes.history(name)]})


def _write_notes(server: Flask, served_store: ServedStore) -> None:
    notes = served_store.service(Notes)

    @server.post("/api/notes")
    def add_note() -> Response:
        body = _body(OnTarget)
        corpus, draft = _corpus(served_store, body.snapshot, body.model), checked_draft(body.text, body.tags)
        note = notes.add(current_person(), corpus, parse_target(body.target), draft, body.id)
        return _answer(_note(note, served_store), 201)

    @server.post("/api/notes/<name>/replies")
    def reply_to_note(name: str) -> Response:
        body = _body(Written)
        reply = notes.reply(current_person(), name, checked_draft(body.text, body.tags), body.id)
        return _answer(_note(reply, served_store), 201)

    @server.put("/api/notes/<name>")
    def edit_note(name: str) -> Response:
        body = _body(Edit)
        draft = checked_draft(body.text, body.tags)
        return _answer(_note(notes.edit(current_person(), name, body.version, draft), served_store))

    @server.delete("/api/notes/<name>")
    def delete_note(name: str) -> Response:
        notes.delete(current_person(), name)
        return _answer({})


def _saved_views(server: Flask, served_store: ServedStore) -> None:
    views = served_store.service(SavedViews)

    @server.get("/api/views")
    def saved_views() -> Response:
        corpus = _corpus(served_store, request.args.get("snapshot"), request.args.get("model"))
        return _answer({"views": [_view(view, served_store) for view in views.of_corpus(corpus)]})

    @server.post("/api/views")
    def save_view() -> Response:
        body = _body(NamedLink)
        corpus = _corpus(served_store, body.snapshot, body.model)
        return _answer(_view(views.save(current_person(), corpus, body.name, body.link, body.id), served_store), 201)

    @server.put("/api/views/<name>")
    def rename_view(name: str) -> Response:
        return _answer(_view(views.rename(current_person(), name, _body(NewName).name), served_store))

    @server.delete("/api/views/<name>")
    def delete_view(name: str) -> Response:
        views.delete(current_person(), name)
        return _answer({})


def _files(server: Flask, served_store: ServedStore) -> None:
    database = served_store.service(Database)

    @server.get("/api/notes/export")
    def export_file() -> Response:
        response = Response(export_notes(database), mimetype="application/json")
        response.headers["Content-Disposition"] = "attachment; filename=headscape-notes.json"
        response.headers["Cache-Control"] = "no-store"
        return response

    @server.post("/api/notes/import")
    def import_file() -> Response:
        if (request.content_length or 0) > BODY:
            raise Refusal(TOO_LARGE, 413)
        imported = import_notes(database, request.get_data(), current_person())
        return _answer({"summary": str(imported), **asdict(imported)})


def _body(kind: type[B]) -> B:
    """The JSON of a request. Refusal where the body is no JSON, or of another form."""
    try:
        return kind.model_validate(request.get_json())
    except RecursionError as error:
        raise Refusal("The request is nested too deeply. Reload the page.") from error
    except ValidationError as error:
        field = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))[:60]
        raise Refusal(f"The request has no valid {field or 'content'}. Reload the page.") from error


def _search() -> Search:
    text, tag, author, model = (request.args.get(name, "")[:200] for name in ("text", "tag", "author", "model"))
    kind: Kind | str = request.args.get("kind", "")
    order = request.args.get("order", "newest")
    if kind not in ("", *KINDS):
        raise Refusal(f"There is no such kind of note. Choose one of {', '.join(KINDS)}.")
    try:
        checked = TypeAdapter(Order).validate_python(order)
    except ValidationError as error:
        raise Refusal("There is no such order. Choose newest, oldest or edited.") from error
    return Search(text, tag, author, kind, model, checked, bounded("page", 0, 1_000_000, fewest=0))  # type: ignore[arg-type]


def _corpus(served_store: ServedStore, snapshot: str | None, model: str | None) -> Corpus:
    return served_store.snapshot(snapshot).corpus(model)


def _answer(content: dict[str, Any], status: int = 200) -> Response:
    response = Response(TypeAdapter(dict[str, Any]).dump_json(content), status, mimetype="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response


def _note(note: Note, served_store: ServedStore) -> dict[str, Any]:
    """A note for a program: its target as a key, and the link that opens it in the newest snapshot."""
    return asdict(note) | {
        "target": note.target.key,
        "kind": note.target.kind,
        "link": _link(note.target, served_store),
    }


def _link(opened: Opened, served_store: ServedStore) -> str | None:
    snapshot = served_store.snapshot()
    return link_to(opened, map(snapshot.corpus, snapshot.models))


def _thread(thread: Thread, served_store: ServedStore) -> dict[str, Any]:
    return {
        "note": _note(thread.note, served_store),
        "replies": [_note(reply, served_store) for reply in thread.replies],
    }


def _former(former: FormerText) -> dict[str, Any]:
    return asdict(former)


def _view(view: SavedView, served_store: ServedStore) -> dict[str, Any]:
    return asdict(view) | {"link": _link(view, served_store)}
