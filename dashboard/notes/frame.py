"""The notes of a server as a table for a notebook."""

from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select

from dashboard.notes.address import notes_address
from dashboard.notes.database import Database
from dashboard.notes.exchange import SECONDS
from dashboard.notes.note import Note
from dashboard.notes.rows import notes_of
from dashboard.notes.tables import notes
from dashboard.web.errors import Refusal
from store import StoreError

if TYPE_CHECKING:
    from pandas import DataFrame

_OWN = ("id", "title", "text", "tags", "author", "created", "edited", "parent")
_ORIGIN = ("model", "model_name", "corpus", "corpus_name")
COLUMNS = ("id", "kind", "target", *_OWN[1:], *_ORIGIN)


def notes_frame(store: str, place: str | None) -> "DataFrame":
    """See `headscape.notes`."""
    from pandas import DataFrame

    try:
        database = Database(notes_address(place, store))
        rows = [_row(note) for note in database.read(_newest_first, SECONDS)]
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
