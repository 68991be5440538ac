"""Searching notes: the fields of a search, and its page of notes; all notes as a table for a notebook."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from sqlalchemy import ColumnElement, Connection, Select, func, select

from dashboard.notes.address import notes_of_store
from dashboard.notes.database import EVERY_NOTE, Database
from dashboard.notes.note import MOST_SOUGHT, Note, folded, notes, notes_of, tags
from dashboard.notes.target import KINDS, Kind
from dashboard.web.errors import Refusal
from store import StoreError

if TYPE_CHECKING:
    from pandas import DataFrame
Order = Literal["newest", "oldest", "edited"]
ORDERS: tuple[Order, ...] = get_args(Order)
#: Notes on a page of a search.
PER_PAGE = 50
#: Tags, authors and models that filters offer, the most frequent first.
OFFERED = 200
_OWN = ("id", "title", "text", "tags", "author", "created", "edited", "parent", "imported_by")
_ORIGIN = ("model", "model_name", "corpus", "corpus_name")
COLUMNS = ("id", "kind", "target", *_OWN[1:], *_ORIGIN)


@dataclass(frozen=True)
class Search:
    """A search for notes and replies; an empty field matches all of them.

    Attributes
    ----------
    text
        A part of the text, whatever its case.
    model
        The identity of the model that somebody looked at when they wrote (`target.model_identity`).
    page
        Number of the page, from 0.
    """

    text: str = ""
    tag: str = ""
    author: str = ""
    kind: Kind | Literal[""] = ""
    model: str = ""
    order: Order = "newest"
    page: int = 0


@dataclass(frozen=True)
class Results:
    """A page of the notes that match a search.

    Attributes
    ----------
    total
        Notes on all pages.
    page, pages
        Number of this page, at most the last, and number of all pages.
    """

    notes: tuple[Note, ...]
    total: int
    page: int
    pages: int


@dataclass(frozen=True)
class Offers:
    """Filters of notes: tags and authors, and models by identity with their names, each with its number of notes."""

    tags: dict[str, int]
    authors: dict[str, int]
    models: dict[tuple[str, str], int]


def find(connection: Connection, search: Search) -> Results:
    """The page of a search."""
    matching = _matching(search)
    total = connection.scalar(select(func.count()).select_from(notes).where(*matching)) or 0
    pages = max(1, -(-total // PER_PAGE))
    page = max(0, min(search.page, pages - 1))
    ordered = select(notes).where(*matching).order_by(*_order(search.order))
    rows = connection.execute(ordered.limit(PER_PAGE).offset(page * PER_PAGE)).all()
    return Results(tuple(notes_of(connection, rows)), total, page, pages)


def offers(connection: Connection) -> Offers:
    """The filters of all notes."""
    count, there = func.count().label("count"), notes.c.deleted.is_(None)
    of_tags = select(tags.c.tag, count).join(notes).where(there).group_by(tags.c.tag)
    of_authors = select(notes.c.author, count).where(there).group_by(notes.c.author)
    named = (notes.c.model, func.max(notes.c.model_name))
    of_models = select(*named, count).where(there).group_by(notes.c.model)
    return Offers(
        {row[0]: row[1] for row in _most_frequent(connection, of_tags)},
        {row[0]: row[1] for row in _most_frequent(connection, of_authors)},
        {(row[0], row[1]): row[2] for row in _most_frequent(connection, of_models)},
    )


def _most_frequent(connection: Connection, counted: Select[Any]) -> list[Any]:
    name = counted.selected_columns[0]
    return list(connection.execute(counted.order_by(func.count().desc(), name).limit(OFFERED)))


def _matching(search: Search) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [notes.c.deleted.is_(None)]
    sought = folded(search.text.replace("\x00", "").strip())[:MOST_SOUGHT]
    if sought:
        conditions.append(notes.c.folded.contains(sought, autoescape=True))
    if search.tag:
        conditions.append(notes.c.id.in_(select(tags.c.note).where(tags.c.tag == folded(_plain(search.tag)))))
    equal = {"author": search.author, "model": search.model, "kind": search.kind if search.kind in KINDS else ""}
    return conditions + [notes.c[name] == _plain(value) for name, value in equal.items() if value]


def _plain(text: str) -> str:
    """A text without the character NUL, which PostgreSQL refuses, and which no stored text has."""
    return text.replace("\x00", "\ufffd")


def _order(order: Order) -> list[ColumnElement[Any]]:
    if order == "oldest":
        return [notes.c.created, notes.c.id]
    time = notes.c.edited if order == "edited" else notes.c.created
    return [time.desc(), notes.c.id]


def notes_frame(store: str, place: str | None) -> "DataFrame":
    """See `headscape.notes`."""
    from pandas import DataFrame

    try:
        database = Database(notes_of_store(place, store))
        rows = [_row(note) for note in database.read(_newest_first, EVERY_NOTE)]
    except (Refusal, ValueError) as error:
        raise StoreError(str(error)) from error
    return DataFrame(rows, columns=list(COLUMNS))


def _newest_first(connection: Connection) -> list[Note]:
    selected = select(notes).where(notes.c.deleted.is_(None)).order_by(notes.c.created.desc(), notes.c.id)
    return notes_of(connection, connection.execute(selected).all())


def _row(note: Note) -> dict[str, Any]:
    of_note = {name: getattr(note, name) for name in _OWN}
    of_origin = {name: getattr(note.origin, name) for name in _ORIGIN}
    return {"kind": note.target.kind, "target": note.target.key, **of_note, **of_origin}
