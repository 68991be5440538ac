"""Saved views: links with names that a team shares; a name is used once in a corpus."""

from sqlalchemy import Connection, Row, delete, insert, select, update

from dashboard.access.person import Person
from dashboard.notes.database import Database
from dashboard.notes.note import Origin, SavedView, checked_id, checked_name, folded, new_id, now
from dashboard.notes.notes import check_writes
from dashboard.notes.tables import time_text, view_of, views
from dashboard.notes.target import corpus_identity, lasting_link
from dashboard.web.errors import Refusal
from dashboard.web.library import Library
from store import Corpus

#: Saved views of a corpus.
MOST = 1_000
_THERE_IS_NONE = "There is no such saved view; it may have been deleted. Reload the page."


class SavedViews:
    """Saved views in a database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def of(cls, library: Library) -> "SavedViews":
        """Those of a library."""
        return cls(library.get(Database))

    def of_corpus(self, corpus: Corpus) -> tuple[SavedView, ...]:
        """The saved views of a corpus, of all its models, by name."""
        own = select(views).where(views.c.corpus == corpus_identity(corpus)).order_by(views.c.folded).limit(MOST)
        return self.database.read(lambda connection: tuple(map(view_of, connection.execute(own))))

    def view(self, name: str) -> SavedView:
        """A saved view by its id."""
        return self.database.read(lambda connection: view_of(_row(connection, name)))

    def save(self, person: Person, corpus: Corpus, name: str, href: str, view_id: str | None = None) -> SavedView:
        """Save a link under a name. Sent again under its id, it is there once."""
        check_writes(person)
        identity = checked_id(view_id) if view_id else new_id()
        view = SavedView(identity, checked_name(name), lasting_link(href), Origin.of(corpus), person.name, now())
        return self.database.write(lambda connection: _save(connection, view))

    def rename(self, person: Person, view_id: str, name: str) -> SavedView:
        """Give one's own saved view another name."""
        check_writes(person)
        checked = checked_name(name)

        def work(connection: Connection) -> SavedView:
            row = _own(connection, person, view_id)
            _check_free(connection, row.corpus, checked, row.id)
            values = {"name": checked, "folded": folded(checked)}
            connection.execute(update(views).where(views.c.id == row.id).values(values))
            return view_of(_row(connection, view_id))

        return self.database.write(work)

    def delete(self, person: Person, view_id: str) -> None:
        """Delete one's own saved view."""
        check_writes(person)

        def work(connection: Connection) -> None:
            row = _own(connection, person, view_id)
            connection.execute(delete(views).where(views.c.id == row.id))

        self.database.write(work)


def _save(connection: Connection, view: SavedView) -> SavedView:
    there = connection.execute(select(views).where(views.c.id == view.id)).one_or_none()
    if there is not None and there.author == view.author:
        return view_of(there)
    _check_free(connection, view.origin.corpus, view.name, view.id)
    connection.execute(insert(views), row_of_view(view))
    return view


def row_of_view(view: SavedView) -> dict[str, str]:
    """The row of a saved view."""
    return {
        "id": view.id,
        "name": view.name,
        "folded": folded(view.name),
        "link": view.link,
        **vars(view.origin),
        "author": view.author,
        "created": time_text(view.created),
    }


def _check_free(connection: Connection, corpus: str, name: str, view_id: str) -> None:
    named = select(views.c.author).where(
        views.c.corpus == corpus, views.c.folded == folded(name), views.c.id != view_id
    )
    author = connection.scalar(named)
    if author is not None:
        raise Refusal(f"{author} has saved a view as “{name}”. Choose another name.", 409)


def _own(connection: Connection, person: Person, view_id: str) -> Row[tuple[str, ...]]:
    row = _row(connection, view_id)
    if row.author != person.name:
        raise Refusal(f"This is a saved view of {row.author}. Save it under another name instead.", 403)
    return row


def _row(connection: Connection, view_id: str) -> Row[tuple[str, ...]]:
    row = connection.execute(select(views).where(views.c.id == checked_id(view_id))).one_or_none()
    if row is None:
        raise Refusal(_THERE_IS_NONE, 404)
    return row
