"""The tables of the database, and notes and saved views as their rows.

A change of a table needs a migration in `migrations/versions`, and a new `REVISION`.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Row,
    RowMapping,
    String,
    Table,
    Text,
    UniqueConstraint,
    delete,
    insert,
    select,
    update,
)

from dashboard.notes.note import FormerText, Note, Origin, SavedView, folded
from dashboard.notes.target import Target, parse_target

#: The newest migration.
REVISION = "0001"
#: Where Alembic notes which migrations have run; a PostgreSQL database may be shared with other programs.
VERSION_TABLE = "headscape_version"

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_name)s", "uq": "uq_%(table_name)s_%(column_0_name)s"}
)

_ORIGIN = ("model", "model_name", "corpus", "corpus_name")


def _origin() -> list[Column[str]]:
    return [Column(name, String(200), nullable=False) for name in _ORIGIN]


def _time(name: str, *, nullable: bool = False) -> Column[str]:
    """A time as a text of one length, which sorts as the times do: `2026-11-24T22:08:45.786028+00:00`."""
    return Column(name, String(32), nullable=nullable)


notes = Table(
    "headscape_notes",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("parent", String(36), ForeignKey("headscape_notes.id"), index=True),
    Column("kind", String(10), nullable=False),
    Column("target", Text, nullable=False),  # the key; too long for an index, so `place` is its hash
    Column("place", String(64), nullable=False, index=True),
    Column("title", String(300), nullable=False),
    *_origin(),
    Column("text", Text, nullable=False),
    Column("folded", Text, nullable=False),  # what a search reads
    Column("author", String(200), nullable=False, index=True),
    _time("created"),
    _time("edited"),
    Column("version", Integer, nullable=False),
    _time("deleted", nullable=True),
    Column("imported_by", String(200)),
    Index("ix_headscape_notes_model", "model"),
)

tags = Table(
    "headscape_tags",
    metadata,
    Column("note", String(36), ForeignKey("headscape_notes.id", ondelete="CASCADE"), primary_key=True),
    Column("tag", String(80), primary_key=True, index=True),
    Column("number", Integer, nullable=False),  # in the order of their author
)

former_texts = Table(
    "headscape_former_texts",
    metadata,
    Column("note", String(36), ForeignKey("headscape_notes.id", ondelete="CASCADE"), primary_key=True),
    Column("edited", String(32), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("tags", Text, nullable=False),  # as JSON
)

views = Table(
    "headscape_views",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("name", String(100), nullable=False),
    Column("folded", String(300), nullable=False),
    Column("link", Text, nullable=False),
    *_origin(),
    Column("author", String(200), nullable=False),
    _time("created"),
    UniqueConstraint("corpus", "folded"),
)


#: Values in a list of a statement: SQLite takes no more than 32,766, PostgreSQL 65,535.
AT_ONCE = 5_000


def place_of(target: Target) -> str:
    """The hash under which a target is found; keys are too long for an index."""
    return sha256(target.key.encode()).hexdigest()


def time_text(time: datetime) -> str:
    """A time as the tables hold it."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def row_of(note: Note) -> dict[str, Any]:
    """The row of a note, without its tags."""
    return {
        "id": note.id,
        "parent": note.parent,
        "kind": note.target.kind,
        "target": note.target.key,
        "place": place_of(note.target),
        "title": note.title,
        **vars(note.origin),
        "text": note.text,
        "folded": folded(note.text),
        "author": note.author,
        "created": time_text(note.created),
        "edited": time_text(note.edited),
        "version": note.version,
        "deleted": note.deleted and time_text(note.deleted),
        "imported_by": note.imported_by,
    }


def insert_note(connection: Connection, note: Note) -> None:
    """Add a note with its tags; an error where its id is taken."""
    connection.execute(insert(notes), row_of(note))
    _insert_tags(connection, note)


def update_note(connection: Connection, note: Note) -> None:
    """Write a note with its tags instead of the one with its id."""
    connection.execute(update(notes).where(notes.c.id == note.id), row_of(note))
    connection.execute(delete(tags).where(tags.c.note == note.id))
    _insert_tags(connection, note)


def _insert_tags(connection: Connection, note: Note) -> None:
    if note.tags:
        rows = [{"note": note.id, "tag": tag, "number": number} for number, tag in enumerate(note.tags)]
        connection.execute(insert(tags), rows)


def read_note(connection: Connection, name: str, *, to_change: bool = False) -> Note | None:
    """The note with an id; `to_change`: nobody else changes it before the transaction ends."""
    selected = select(notes).where(notes.c.id == name)
    row = connection.execute(selected.with_for_update() if to_change else selected).one_or_none()
    return None if row is None else notes_of(connection, [row])[0]


def notes_of(connection: Connection, rows: Sequence[Row[Any]]) -> list[Note]:
    """The notes of some rows of `notes`, in their order, with their tags."""
    each: dict[str, list[str]] = {row.id: [] for row in rows}
    names = list(each)
    for start in range(0, len(names), AT_ONCE):
        some = tags.c.note.in_(names[start : start + AT_ONCE])
        for tag in connection.execute(select(tags).where(some).order_by(tags.c.number)):
            each[tag.note].append(tag.tag)
    return [_note(row._mapping, tuple(each[row.id])) for row in rows]


def _note(row: RowMapping, own_tags: tuple[str, ...]) -> Note:
    return Note(
        id=row["id"],
        target=parse_target(row["target"]),
        title=row["title"],
        origin=origin_of(row),
        text=row["text"],
        tags=own_tags,
        author=row["author"],
        created=datetime.fromisoformat(row["created"]),
        edited=datetime.fromisoformat(row["edited"]),
        version=row["version"],
        parent=row["parent"],
        deleted=datetime.fromisoformat(row["deleted"]) if row["deleted"] else None,
        imported_by=row["imported_by"],
    )


def origin_of(row: RowMapping) -> Origin:
    """Where a note or a view was written."""
    return Origin(*(row[name] for name in ("model", "model_name", "corpus", "corpus_name")))


def keep_texts(connection: Connection, name: str, texts: Iterable[FormerText]) -> None:
    """Keep former texts of a note, by the time of their edit: those that are kept already stay as they are."""
    own = select(former_texts.c.edited).where(former_texts.c.note == name)
    new = {time_text(text.edited): text for text in texts}
    kept = set(connection.scalars(own.where(former_texts.c.edited.in_(list(new)))))
    rows = [
        {"note": name, "edited": time, "version": text.version, "text": text.text, "tags": json.dumps(text.tags)}
        for time, text in new.items()
        if time not in kept
    ]
    if rows:
        connection.execute(insert(former_texts), rows)


def text_of(note: Note) -> FormerText:
    """The text of a note, to be kept before it is edited."""
    return FormerText(note.version, note.text, note.tags, note.edited)


def former_texts_of(connection: Connection, name: str) -> tuple[FormerText, ...]:
    """The former texts of a note, the oldest first."""
    own = select(former_texts).where(former_texts.c.note == name).order_by(former_texts.c.edited)
    return tuple(map(_former_text, connection.execute(own)))


def every_former_text(connection: Connection) -> dict[str, list[FormerText]]:
    """The former texts of all notes, the oldest first, by the id of the note."""
    every: dict[str, list[FormerText]] = {}
    for row in connection.execute(select(former_texts).order_by(former_texts.c.edited)):
        every.setdefault(row.note, []).append(_former_text(row))
    return every


def _former_text(row: Row[Any]) -> FormerText:
    return FormerText(row.version, row.text, tuple(json.loads(row.tags)), datetime.fromisoformat(row.edited))


def view_of(row: Row[Any]) -> SavedView:
    """The saved view of a row of `views`."""
    created = datetime.fromisoformat(row.created)
    return SavedView(row.id, row.name, row.link, origin_of(row._mapping), row.author, created)
