"""Page Notes, and the routes by which every page reads notes on a target, notes of a search, marks, former texts and saved views.

A page names itself by its link, as in `/data/page`, in a form: a link can be too long for an address. Nothing is cached. Where
the database cannot be used, the answer is a sentence with status 200: a browser would log every other status as an error.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from itertools import islice
from typing import Any

from dash import html
from flask import Flask, Response, jsonify, request

from dashboard.access.person import Person, current_person
from dashboard.notes import routes
from dashboard.notes.address import WRITING_OFF, NotesUnavailable
from dashboard.notes.database import Database
from dashboard.notes.listing import NotePanel, former_json, found_json, thread_json, view_json
from dashboard.notes.listing import SavedViews as SavedViewList
from dashboard.notes.notes import Notes, SavedViews
from dashboard.notes.search import Offers, Search
from dashboard.notes.target import HeadTarget, PointTarget, Target, TokenTarget, ViewTarget, parse_target, sentence_name
from dashboard.topic import Topic, read_then_draw
from dashboard.ui.controls import choice, text_input
from dashboard.ui.markup import Page
from dashboard.web.context import Context, resolve
from dashboard.web.errors import Refusal
from dashboard.web.http import data_link
from dashboard.web.paths import links_of, root
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from dashboard.web.token_sets import shown_token_set
from store import Corpus
from store.schema.features import point_title
from store.schema.model import head_name

#: Kinds of targets, for a person.
KIND_NAMES = {
    "head": "heads",
    "token": "tokens",
    "sentence": "sentences",
    "pair": "pairs of words",
    "point": "places in the model",
    "view": "views",
}
ANY = {"": "any"}
_HOW_TO_READ = "Notes of everybody on this server, the newest first. Click a note's subject to open it."
EMPTY = "There is no note yet. Open a head, a point or a sentence, then choose Notes, Add a note."
NOTHING_MATCHES = "No note matches. Remove a filter."
Answer = Callable[..., dict[str, Any]]
Counts = Mapping[Target, int]
#: Most tokens, or places in the model, that a page marks.
MOST_MARKED = 2_000


@dataclass(frozen=True)
class NotesPage:
    """What the page shows: `offers` has the filters, or says why the database cannot be used."""

    state: LinkState
    offers: Offers | str
    is_read_only: bool = False


def read(context: Context) -> NotesPage:
    """What the page shows; the notes themselves are fetched by the browser."""
    try:
        offers = context.served_store.service(Notes).offers()
    except Refusal as refusal:
        return NotesPage(context.state, str(refusal))
    return NotesPage(context.state, offers, context.served_store.service(Database).is_read_only)


def draw(shown: NotesPage) -> Page:
    """The page; or why the database cannot be used."""
    title, how_to_read = html.H1("Notes"), html.P(_HOW_TO_READ, className="how-to-read")
    if isinstance(shown.offers, str):
        return Page(above=[title, html.P(shown.offers, className="notes-off", role="status")])
    off = [html.P(WRITING_OFF, className="notes-off", role="status")] if shown.is_read_only else []
    filters, lists = _filters(shown.state, shown.offers), _lists(shown.state, bool(shown.offers.authors))
    files = _files(writes=current_person().writes and not shown.is_read_only)
    return Page(above=[title, how_to_read, *off, filters, files, lists])


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
    """A choice among the values that notes have, and the value of the link, even if no note has it."""
    names = {name: title if isinstance(title, str) else f"{name} ({title})" for name, title in known.items()}
    options = ANY | names | ({value: value[:20]} if value and value not in names else {})
    return choice(field, label, options, value or "", width, by="notes", of_data=True)


def _files(*, writes: bool) -> html.Div:
    """Export of all notes and saved views to a file, and import from a file (assets/notes/component.mjs)."""
    export = html.A("Export as JSON", href=f"{root()}/api/notes/export")
    button = html.Button("Import JSON", id="import-notes", type="button", className="action")
    outcome = html.Span(id="imported", role="status")
    return html.Div([export, *([button] if writes else []), outcome], className="note-files")


def _list(state: LinkState) -> NotePanel:
    search = {name: state.fields[name] for name in ("containing", "tag", "author", "about", "checkpoint", "leaf")}
    chosen = {name: value for name, value in search.items() if value}
    empty = NOTHING_MATCHES if chosen.keys() - {"leaf"} else EMPTY
    return NotePanel(id="notes-list", about={"search": chosen | {"leaf": state.leaf}, "empty": empty})


def _lists(state: LinkState, has_notes: bool) -> html.Div:
    """The notes, and beside or below them the saved views, which stay where they are however many notes come."""
    views = html.Section([html.H2("Saved views"), SavedViewList(id="saved-views")])
    return html.Div(
        [html.Section([html.H2("All notes"), _list(state)]), views],
        className="note-lists" if has_notes else "note-lists none",
    )


def register(server: Flask, served_store: ServedStore) -> None:
    """Add the routes."""
    _add_page_routes(server, served_store)
    _add_list_routes(server, served_store)


def _add_page_routes(server: Flask, served_store: ServedStore) -> None:
    notes = served_store.service(Notes)

    @server.post("/data/notes/marks")
    @_uncached
    def marks_of_page() -> dict[str, Any]:
        context = _context(served_store)
        return marks_of(context.corpus, context.state, notes.counts(context.corpus))

    @server.post("/data/notes/on")
    @_uncached
    def notes_of_page() -> dict[str, Any]:
        context, person = _context(served_store), _person(served_store)
        key = request.form.get("target")
        target = parse_target(key) if key else ViewTarget.of(context.corpus, context.state)
        threads = [thread_json(thread, person) for thread in notes.of_target(target)]
        return {"notes": threads, "target": target.key, "writes": person.writes, **_off(served_store)}

    @server.get("/data/notes/<name>/history")
    @_uncached
    def former_texts(name: str) -> dict[str, Any]:
        return {"texts": [former_json(former) for former in reversed(notes.history(name))]}


def _add_list_routes(server: Flask, served_store: ServedStore) -> None:
    notes, views = served_store.service(Notes), served_store.service(SavedViews)

    @server.post("/data/notes/found")
    @_uncached
    def notes_of_list() -> dict[str, Any]:
        context = _context(served_store)
        return found_json(notes.find(_search_of(context.state)), context.snapshot, _person(served_store))

    @server.post("/data/notes/views")
    @_uncached
    def views_of_page() -> dict[str, Any]:
        context, person = _context(served_store), _person(served_store)
        every = [view_json(view, context.snapshot, person) for view in views.of_corpus(context.corpus)]
        return {"views": every, **_off(served_store)}


def _context(served_store: ServedStore) -> Context:
    """The context of the page's link, in the snapshot that its tab shows."""
    return resolve(served_store, *(request.form.get(name, "") for name in ("pathname", "search", "snapshot")))


def _person(served_store: ServedStore) -> Person:
    """The person who sends the request; with the role reader where nobody can write."""
    person = current_person()
    return replace(person, role="reader") if served_store.service(Database).is_read_only else person


def _off(served_store: ServedStore) -> dict[str, str]:
    """Why an author cannot write now; nothing for a reader, whom no page offers to write."""
    off = served_store.service(Database).is_read_only and current_person().writes
    return {"off": WRITING_OFF} if off else {}


def _search_of(state: LinkState) -> Search:
    return Search(
        text=state.containing or "",
        tag=state.tag or "",
        author=state.author or "",
        kind=state.about or "",
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


def marks_of(corpus: Corpus, state: LinkState, counts: Counts) -> dict[str, Any]:
    """Numbers of notes on the panels, points and tokens of a page, and on every target by its key, as JSON.

    `base` is the beginning of the data URLs of the picture that has the marks.
    """
    nothing: dict[str, Any] = {"panels": {}, "tokens": {}, "positions": {}}
    marks = _MARKS[links_of(state.page).marked](corpus, state, counts)
    return {"base": data_link(corpus), "counts": dict(_by_key(counts)), **nothing, **marks}


def _by_key(counts: Counts) -> Iterator[tuple[str, int]]:
    return ((target.key, count) for target, count in counts.items())


def _mark_heads(corpus: Corpus, _state: LinkState, counts: Counts) -> dict[str, Any]:
    """Marks of heads by their names, and of tokens of the corpus by their numbers."""
    heads = {
        head_name(target.layer, target.head): count
        for target, count in counts.items()
        if isinstance(target, HeadTarget) and target.fits(corpus)
    }
    own = ((target.token(corpus), count) for target, count in counts.items() if isinstance(target, TokenTarget))
    tokens = islice(((token, count) for token, count in own if token is not None), MOST_MARKED)
    return {"base": f"{data_link(corpus)}/points", "panels": heads, "tokens": _numbered(tokens)}


def _mark_sentence(corpus: Corpus, state: LinkState, counts: Counts) -> dict[str, Any]:
    """Marks of tokens by their positions; none in a typed sentence, or in a sentence without vectors."""
    if state.text or state.sentence >= corpus.n_sentences:
        return {}
    own = sentence_name(corpus, state.sentence)
    tokens = (
        (target.position if target.fits(corpus) else None, count)
        for target, count in counts.items()
        if isinstance(target, TokenTarget) and target.sentence == own
    )
    return {"base": f"{data_link(corpus)}/sentence/{state.sentence}", "positions": _numbered(tokens)}


def _mark_features(corpus: Corpus, state: LinkState, counts: Counts) -> dict[str, Any]:
    """Marks of feature points by their titles; in the large panel, of tokens of the shown token set by their numbers."""
    if not corpus.token_sets:
        return {}
    token_set = shown_token_set(corpus, state)
    base = f"{data_link(corpus)}/features/{token_set}"
    fitting = ((target, n) for target, n in counts.items() if isinstance(target, PointTarget) and target.fits(corpus))
    own = list(islice(fitting, MOST_MARKED))
    panels = {point_title(target.point): count for target, count in own if not target.token}
    shown = ((t, count) for t, count in own if (t.point, t.token_set) == (state.point, token_set))
    return {"base": base, "panels": panels, "tokens": _numbered((t.number(corpus), count) for t, count in shown)}


def _numbered(counts: Iterable[tuple[int | None, int]]) -> dict[str, int]:
    return {str(number): count for number, count in counts if number is not None}


#: Functions that mark the notes of a page, by `marked` of the page's links.
_MARKS = {"heads": _mark_heads, "sentence": _mark_sentence, "features": _mark_features}


def notes_version(served_store: ServedStore) -> str | None:
    """A text that differs after every change of the notes; None where they cannot be read."""
    try:
        return served_store.service(Notes).version()
    except Refusal:
        return None


NOTES = Topic(
    name="notes",
    title="Notes",
    letter="n",
    docs="notes.md",
    layout=read_then_draw(read, draw),
    routes=(register, routes.register),
    changes=True,
)
