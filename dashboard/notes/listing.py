"""Notes and saved views as the pages show them: JSON-ready, with the text as elements and the link in the snapshot on screen."""

from datetime import datetime
from typing import Any

from dashboard.access.person import Person
from dashboard.notes.markdown import markdown
from dashboard.notes.note import FormerText, Note, SavedView, Thread
from dashboard.notes.search import Results
from dashboard.notes.target import link_to
from dashboard.ui.markup import Tree, tree
from store import Snapshot

#: What is said of a note whose target the snapshot on screen does not have.
MISSING = "This store no longer has it."


def thread_json(thread: Thread, person: Person) -> dict[str, Any]:
    """A note with its replies."""
    return note_json(thread.note, person) | {"replies": [note_json(reply, person) for reply in thread.replies]}


def note_json(note: Note, person: Person) -> dict[str, Any]:
    """A note or a reply; `mine`: this person may edit and delete it."""
    return {
        "id": note.id,
        "author": note.author,
        "created": _moment(note.created),
        "edited": _moment(note.edited) if note.version > 1 else None,
        "deleted": note.deleted is not None,
        "version": note.version,
        "text": note.text,
        "tree": text_tree(note.text),
        "tags": list(note.tags),
        "reply": note.parent is not None,
        "mine": person.writes and note.author == person.name and note.deleted is None,
    }


def found_json(results: Results, snapshot: Snapshot, person: Person) -> dict[str, Any]:
    """A page of the notes that match a search, each with what it is about and the link to it."""
    return {
        "notes": [_placed(note, snapshot, person) for note in results.notes],
        "total": results.total,
        "leaf": results.page,
        "leaves": results.pages,
        "writes": person.writes,
    }


def _placed(note: Note, snapshot: Snapshot, person: Person) -> dict[str, Any]:
    href = link_to(note.target, map(snapshot.corpus, snapshot.models))
    about = {"title": note.title, "model": note.origin.model_name, "href": href, "missing": None if href else MISSING}
    return note_json(note, person) | about


def view_json(view: SavedView, snapshot: Snapshot, person: Person) -> dict[str, Any]:
    """A saved view with the link that opens it in this snapshot."""
    return {
        "id": view.id,
        "name": view.name,
        "author": view.author,
        "created": _moment(view.created),
        "model": view.origin.model_name,
        "href": link_to(view, map(snapshot.corpus, snapshot.models)),
        "mine": person.writes and view.author == person.name,
    }


def former_json(former: FormerText) -> dict[str, Any]:
    """A text before an edit."""
    return {"time": _moment(former.edited), "tree": text_tree(former.text), "tags": list(former.tags)}


def text_tree(text: str) -> Tree:
    """A text in Markdown as elements: `[tag, properties, *children]`."""
    return tree(markdown(text))


def _moment(time: datetime) -> str:
    return time.isoformat(timespec="seconds")
