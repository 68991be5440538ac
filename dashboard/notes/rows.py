"""Notes and saved views as rows of the tables, and back."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, Row, RowMapping, delete, insert, select, update

from dashboard.notes.note import FormerText, Note, Origin, SavedView, folded
from dashboard.notes.tables import former_texts, notes, tags
from dashboard.notes.target import Target, parse_target

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
