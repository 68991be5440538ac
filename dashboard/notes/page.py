"""Page Notes: all notes of the server, found by text, tag, author, kind and model; their files; and the saved views."""

from collections.abc import Mapping
from typing import Any

from dash import html

from dashboard.access.person import current_person
from dashboard.notes import page_routes, routes
from dashboard.notes.database import Database
from dashboard.notes.failures import WRITING_OFF
from dashboard.notes.notes import Notes
from dashboard.notes.panel import NotePanel, SavedViews
from dashboard.notes.search import Offers
from dashboard.topic import Topic
from dashboard.ui.controls import choice, text_input
from dashboard.ui.page import Page
from dashboard.web.context import Context
from dashboard.web.errors import Refusal
from dashboard.web.prefix import root
from dashboard.web.state import LinkState

#: Kinds of targets, for a person.
KIND_NAMES = {
    "head": "heads",
    "token": "tokens",
    "sentence": "sentences",
    "pair": "pairs of words",
    "point": "feature points",
    "view": "views",
}
ANY = {"": "any"}
_HOW_TO_READ = "Notes of everybody on this server, the newest first. Click what a note is about to open it."
EMPTY = "There is no note yet. Open a head, a click on a point or a sentence, and choose Add a note under Notes."
NOTHING_MATCHES = "No note matches. Remove a filter."


def layout(context: Context) -> Page:
    """The page; where the database cannot be used, why."""
    title, how_to_read = html.H1("Notes"), html.P(_HOW_TO_READ, className="how-to-read")
    try:
        offers = context.library.get(Notes).offers()
    except Refusal as refusal:
        return Page(above=[title, html.P(str(refusal), className="notes-off", role="status")])
    is_read_only = context.library.get(Database).is_read_only
    off = [html.P(WRITING_OFF, className="notes-off", role="status")] if is_read_only else []
    files = _files(writes=current_person().writes and not is_read_only)
    return Page(above=[title, how_to_read, *off, _filters(context.state, offers), files, _lists(context.state)])


def _filters(state: LinkState, offers: Offers) -> html.Div:
    models = dict(list(offers.models))  # its keys are pairs
    controls = [
        text_input("containing", "Text", "sink, then Enter", state.containing, 180),
        _filter("tag", "Tag", offers.tags, state.tag, 140),
        _filter("author", "Author", offers.authors, state.author, 140),
        choice("about", "About", ANY | KIND_NAMES, state.about or "", 140, by="notes"),
        _filter("checkpoint", "Model", models, state.checkpoint, 200),
    ]
    return html.Div(controls, className="controls")


def _filter(field: str, label: str, known: Mapping[str, Any], value: str | None, width: int) -> object:
    """A choice of what notes have; also of what the link says, though none has it."""
    names = {name: title if isinstance(title, str) else f"{name} ({title})" for name, title in known.items()}
    options = ANY | names | ({value: value[:20]} if value and value not in names else {})
    return choice(field, label, options, value or "", width, by="notes", of_data=True)


def _files(*, writes: bool) -> html.Div:
    """All notes and saved views as a file, and from one (assets/notes/component.mjs)."""
    export = html.A("Export as JSON", href=f"{root()}/api/notes/export")
    button = html.Button("Import JSON", id="import-notes", type="button", className="action")
    outcome = html.Span(id="imported", role="status")
    return html.Div([export, *([button] if writes else []), outcome], className="note-files")


def _list(state: LinkState) -> NotePanel:
    search = {name: state.fields[name] for name in ("containing", "tag", "author", "about", "checkpoint", "leaf")}
    chosen = {name: value for name, value in search.items() if value}
    empty = NOTHING_MATCHES if chosen.keys() - {"leaf"} else EMPTY
    return NotePanel(id="notes-list", about={"search": chosen | {"leaf": state.leaf}, "empty": empty})


def _lists(state: LinkState) -> html.Div:
    """The notes, and beside them the saved views, which stay where they are however many notes come."""
    views = html.Section([html.H2("Saved views"), SavedViews(id="saved-views")])
    return html.Div([html.Section([html.H2("All notes"), _list(state)]), views], className="note-lists")


NOTES = Topic(
    name="notes",
    title="Notes",
    letter="n",
    docs="notes.md",
    layout=layout,
    routes=(page_routes.register, routes.register),
    changes=True,
)
