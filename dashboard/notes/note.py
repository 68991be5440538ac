"""Notes with their replies and former texts, saved views, what may be written in them, and the tables that hold them.

A change of a table needs a migration in `migrations/versions`, and a new `REVISION`.
"""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

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

from dashboard.access.person import LONGEST_NAME
from dashboard.notes.target import TITLE, Target, corpus_identity, link_of_model, model_identity, parse_target
from dashboard.web.bounds import short_name
from dashboard.web.errors import Refusal
from store import Corpus

#: Most characters of a note, tags of a note, characters of a tag, and characters of a saved view's name.
MOST_TEXT, MOST_TAGS, MOST_TAG, MOST_NAME = 10_000, 20, 40, 100
#: Most characters of a name from a store.
MOST_WORDS = 200
#: Marks, embeddings, overrides and isolates of the direction of a text.
_DIRECTION = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
#: Most characters of a search.
MOST_SOUGHT = 200
#: The newest migration.
REVISION = "0001"
#: Table in which Alembic notes the migrations that have run; a PostgreSQL database may be shared with other programs.
VERSION_TABLE = "headscape_version"
metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_name)s", "uq": "uq_%(table_name)s_%(column_0_name)s"}
)
_ORIGIN = ("model", "model_name", "corpus", "corpus_name")
#: Most values in a list of a statement: SQLite takes no more than 32,766, PostgreSQL 65,535.
AT_ONCE = 5_000


@dataclass(frozen=True)
class Origin:
    """The model and the corpus that somebody looked at when they wrote: identities, and names for people."""

    model: str
    model_name: str
    corpus: str
    corpus_name: str

    @classmethod
    def of(cls, corpus: Corpus) -> "Origin":
        """The origin of a note on an opened corpus."""
        name = str(corpus.corpus_attributes["name"])
        return cls(model_identity(corpus), storable(short_name(corpus)), corpus_identity(corpus), storable(name))


@dataclass(frozen=True)
class Draft:
    """A text in Markdown and its tags, as an author writes them; `checked_draft` makes a draft."""

    text: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Note:
    """A note or a reply.

    Attributes
    ----------
    title
        Title of the target when the note was written.
    parent
        Id of the note that a reply answers; None for a note.
    version
        1, and one more with each edit; an edit names the version that its author read.
    edited
        Time of the newest version.
    deleted
        Time of the deletion; text and tags are then empty.
    imported_by
        Name of the person who imported the note from a file, where that was not its author.
    """

    id: str
    target: Target
    title: str
    origin: Origin
    text: str
    tags: tuple[str, ...]
    author: str
    created: datetime
    edited: datetime
    version: int = 1
    parent: str | None = None
    deleted: datetime | None = None
    imported_by: str | None = None


@dataclass(frozen=True)
class FormerText:
    """The text and the tags of a note before an edit."""

    version: int
    text: str
    tags: tuple[str, ...]
    edited: datetime


@dataclass(frozen=True)
class Thread:
    """A note and its replies, the oldest first."""

    note: Note
    replies: tuple[Note, ...] = ()


@dataclass(frozen=True)
class SavedView:
    """A link with a name, which is unique among the saved views of a corpus."""

    id: str
    name: str
    link: str
    origin: Origin
    author: str
    created: datetime

    def href(self, corpus: Corpus) -> str | None:
        """The link to the view in a corpus; None for another model or corpus."""
        if (self.origin.model, self.origin.corpus) != (model_identity(corpus), corpus_identity(corpus)):
            return None
        return link_of_model(self.link, corpus)


def now() -> datetime:
    """The time in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """The id of a new note or saved view."""
    return str(uuid4())


def checked_id(text: str) -> str:
    """An id that a browser made, in its one spelling. Refusal where the text is no id."""
    try:
        return str(UUID(text))
    except (ValueError, AttributeError) as error:
        raise Refusal("This is not the id of a note. Reload the page.") from error


def checked_draft(text: str, tags: Iterable[str]) -> Draft:
    """The draft of an author, without blanks around the text. Refusal where it is empty or too long."""
    written, each = checked_text(text).strip(), tuple(dict.fromkeys(filter(None, map(checked_tag, tags))))
    if not written:
        raise Refusal("The note is empty. Write something.")
    if len(written) > MOST_TEXT:
        raise Refusal(f"The note has {len(written):,} characters. Shorten it to {MOST_TEXT:,}.")
    if len(each) > MOST_TAGS:
        raise Refusal(f"The note has {len(each)} tags. Keep at most {MOST_TAGS}.")
    return Draft(written, each)


def checked_tag(text: str) -> str:
    """A tag in lower case with single blanks; Refusal where it is too long."""
    tag = " ".join(folded(without_direction(checked_text(text))).replace(",", " ").split())
    if len(tag) > MOST_TAG:
        raise Refusal(f"The tag “{tag[:MOST_TAG]}...” is too long. Shorten it to {MOST_TAG} characters.")
    return tag


def checked_name(text: str) -> str:
    """The name of a saved view, with single blanks; Refusal where it is empty or too long."""
    name = " ".join(without_direction(checked_text(text)).split())
    if not name:
        raise Refusal("The view has no name. Give it one.")
    if len(name) > MOST_NAME:
        raise Refusal(f"The name has {len(name):,} characters. Shorten it to {MOST_NAME}.")
    return name


def checked_text(text: str) -> str:
    """A text that every database can hold; Refusal where it has half a character or a control character."""
    if not all(map(_is_storable, text)):
        raise Refusal("The text has characters that cannot be stored. Remove control characters and send it again.")
    return text


def _is_storable(letter: str) -> bool:
    return unicodedata.category(letter) != "Cs" and (letter >= " " or letter in "\t\n\r")


def storable(text: str, most: int = MOST_WORDS) -> str:
    """A name from a store, which may hold anything, made acceptable to `checked_text`, without marks of direction, and cut."""
    return "".join(letter if _is_storable(letter) else "\ufffd" for letter in without_direction(text))[:most]


def without_direction(text: str) -> str:
    """A name without the characters by which it could turn the direction of what stands around it (UAX 9)."""
    return text.translate(_DIRECTION)


def folded(text: str) -> str:
    """A text as searches compare it: without differences of case or of composed accents."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _origin() -> list[Column[str]]:
    return [Column(name, String(MOST_WORDS), nullable=False) for name in _ORIGIN]


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
    Column("title", String(TITLE), nullable=False),
    *_origin(),
    Column("text", Text, nullable=False),
    Column("folded", Text, nullable=False),  # what a search reads
    Column("author", String(LONGEST_NAME), nullable=False, index=True),
    _time("created"),
    _time("edited"),
    Column("version", Integer, nullable=False),
    _time("deleted", nullable=True),
    Column("imported_by", String(LONGEST_NAME)),
    Index("ix_headscape_notes_model", "model"),
)
views = Table(
    "headscape_views",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("name", String(100), nullable=False),
    Column("folded", String(300), nullable=False),
    Column("link", Text, nullable=False),
    *_origin(),
    Column("author", String(LONGEST_NAME), nullable=False),
    _time("created"),
    UniqueConstraint("corpus", "folded"),
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
    """Replace the note with the same id, and its tags; a deleted note keeps no former texts."""
    connection.execute(update(notes).where(notes.c.id == note.id), row_of(note))
    if note.deleted:
        connection.execute(delete(former_texts).where(former_texts.c.note == note.id))
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
    """The origin of a note or a saved view, from its row."""
    return Origin(*(row[name] for name in ("model", "model_name", "corpus", "corpus_name")))


def keep_texts(connection: Connection, name: str, texts: Iterable[FormerText]) -> None:
    """Keep former texts of a note, by the time of their edit; texts that are kept already stay as they are."""
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
