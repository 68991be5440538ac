"""Notes and saved views as one JSON file: exported whole, imported in one transaction, as often as one likes.

A note is known by its id. Of two versions the later edit wins, and the other one becomes a former text, so nothing is lost.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import Connection, insert, select

from dashboard.access.person import Person
from dashboard.notes.database import Database
from dashboard.notes.note import (
    FormerText,
    Note,
    Origin,
    SavedView,
    checked_draft,
    checked_id,
    checked_name,
    checked_text,
    folded,
    now,
)
from dashboard.notes.notes import check_writes
from dashboard.notes.rows import former_texts_of, insert_note, keep_text, notes_of, read_note, update_note, view_of
from dashboard.notes.tables import notes, views
from dashboard.notes.target import TITLE, lasting_link, parse_target
from dashboard.notes.views import row_of_view
from dashboard.web.errors import Refusal
from store.wording import many

#: Seconds that an export or an import may take.
SECONDS = 60.0
#: How far a clock may be ahead of this server's.
AHEAD = timedelta(days=1)
FORMAT: Literal["headscape-notes/1"] = "headscape-notes/1"
_NO_FILE = "This is not a file of notes. Choose a file that `headscape notes export` or the page of notes wrote."


def _plain(text: str) -> str:
    try:
        return checked_text(text)
    except Refusal as refusal:
        raise ValueError(str(refusal)) from refusal


Words = Annotated[str, Field(max_length=200), AfterValidator(_plain)]
Count = Annotated[int, Field(ge=1, lt=2**31)]


class Record(BaseModel):
    """A part of a file."""

    model_config = ConfigDict(extra="forbid")


class OriginRecord(Record):
    """As `Origin`."""

    model: Words
    model_name: Words
    corpus: Words
    corpus_name: Words


class FormerRecord(Record):
    """As `FormerText`."""

    version: Count
    text: str
    tags: list[str]
    edited: AwareDatetime


class NoteRecord(Record):
    """As `Note`, with the target as its key, and the former texts."""

    id: str
    target: str
    title: Annotated[str, Field(max_length=TITLE), AfterValidator(_plain)]
    origin: OriginRecord
    text: str
    tags: list[str]
    author: Annotated[Words, Field(min_length=1)]
    created: AwareDatetime
    edited: AwareDatetime
    version: Count
    parent: str | None
    deleted: AwareDatetime | None
    imported_by: Words | None
    former: list[FormerRecord]


class ViewRecord(Record):
    """As `SavedView`."""

    id: str
    name: str
    link: str
    origin: OriginRecord
    author: Annotated[Words, Field(min_length=1)]
    created: AwareDatetime


class NotesFile(Record):
    """A whole file."""

    format: Literal["headscape-notes/1"]
    notes: list[NoteRecord]
    views: list[ViewRecord]


@dataclass(frozen=True)
class Imported:
    """What an import did.

    Attributes
    ----------
    added, updated, unchanged
        Notes that are new here, that the file had a later version of, and all others.
    views
        Saved views that are new here.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    views: int = 0

    def __str__(self) -> str:
        of_notes = f"{many(self.added, 'note')} added, {self.updated} updated, {self.unchanged} unchanged"
        return f"{of_notes}; {many(self.views, 'saved view')} added"


def export_notes(database: Database) -> bytes:
    """The file with every note and every saved view."""

    def work(connection: Connection) -> NotesFile:
        every = notes_of(connection, connection.execute(select(notes).order_by(notes.c.created, notes.c.id)).all())
        saved = map(view_of, connection.execute(select(views).order_by(views.c.created, views.c.id)))
        records = [_note_record(note, former_texts_of(connection, note.id)) for note in every]
        return NotesFile(format=FORMAT, notes=records, views=[ViewRecord(**asdict(view)) for view in saved])

    return database.read(work, SECONDS).model_dump_json(indent=1).encode()


def import_notes(database: Database, content: bytes, person: Person | None = None) -> Imported:
    """Import a file: all of it or, where one note of it is wrong, nothing.

    Without a `person`, as who runs the server does, authors are as in the file. A person adds notes of others under their
    own name too, and changes only their own.
    """
    if person is not None:
        check_writes(person)
    file = _read(content)
    records = sorted(file.notes, key=lambda record: record.parent is not None)
    each = [(_note(record), [_former(former) for former in record.former]) for record in records]
    saved = [_view(record) for record in file.views]

    def work(connection: Connection) -> Imported:
        outcomes = [_import_note(connection, note, former, person) for note, former in each]
        added_views = [_import_view(connection, view, person) for view in saved]
        counts = {name: outcomes.count(name) for name in ("added", "updated", "unchanged")}
        return Imported(**counts, views=sum(added_views))

    return database.write(work, SECONDS)


def _read(content: bytes) -> NotesFile:
    try:
        return NotesFile.model_validate_json(content)
    except ValidationError as error:
        places = [place for place in error.errors(include_url=False)[0]["loc"] if place != "format"]
        where = f" Its part {'.'.join(map(str, places))[:60]} is wrong." if places else ""
        raise Refusal(_NO_FILE.replace(".", f".{where}", 1)) from error


def _note_record(note: Note, former: Iterable[FormerText]) -> NoteRecord:
    fields = asdict(note) | {"target": note.target.key}
    return NoteRecord(**fields, former=[FormerRecord(**asdict(text)) for text in former])


def _note(record: NoteRecord) -> Note:
    try:
        text, tags = ("", ()) if record.deleted else _checked(record)
        note = Note(
            id=checked_id(record.id),
            target=parse_target(record.target),
            title=record.title,
            origin=Origin(**record.origin.model_dump()),
            text=text,
            tags=tags,
            author=record.author,
            created=record.created,
            edited=_checked_time(record.edited, record.created),
            version=record.version,
            parent=record.parent and checked_id(record.parent),
            deleted=record.deleted,
            imported_by=record.imported_by,
        )
        if note.parent == note.id:
            raise Refusal("It replies to itself.")
    except Refusal as refusal:
        raise Refusal(f"Note {record.id[:36]!a} of the file is wrong: {refusal} Nothing was imported.") from refusal
    return note


def _checked(record: NoteRecord | FormerRecord) -> tuple[str, tuple[str, ...]]:
    draft = checked_draft(record.text, record.tags)
    return draft.text, draft.tags


def _checked_time(edited: datetime, created: datetime) -> datetime:
    if edited < created or edited > now() + AHEAD or created.year < 2000:
        raise Refusal("Its times are impossible.")
    return edited


def _former(record: FormerRecord) -> FormerText:
    text, tags = _checked(record)
    return FormerText(record.version, text, tags, record.edited)


def _view(record: ViewRecord) -> SavedView:
    origin, name = Origin(**record.origin.model_dump()), checked_name(record.name)
    created = _checked_time(record.created, record.created)
    return SavedView(checked_id(record.id), name, lasting_link(record.link), origin, record.author, created)


Outcome = Literal["added", "updated", "unchanged"]


def _import_note(connection: Connection, note: Note, former: list[FormerText], person: Person | None) -> Outcome:
    there = read_note(connection, note.id, to_change=True)
    if there is None:
        _check_parent(connection, note)
        insert_note(connection, _signed(note, person))
        _keep(connection, note, former)
        return "added"
    if (there.target, there.parent, there.author) != (note.target, note.parent, note.author):
        raise Refusal(f"Note {note.id} is another one here. Nothing was imported; remove it from the file.", 409)
    if person is not None and there.author != person.name:
        return "unchanged"
    if note.edited <= there.edited:
        return _keep_older(connection, note, former, there)
    if not note.deleted:
        keep_text(connection, there)
    update_note(connection, replace(note, version=max(note.version, there.version + 1), imported_by=there.imported_by))
    _keep(connection, note, former)
    return "updated"


def _keep_older(connection: Connection, note: Note, former: list[FormerText], there: Note) -> Outcome:
    """Keep an older version with its former texts, unless the note was deleted since."""
    if not there.deleted:
        older = [FormerText(note.version, note.text, note.tags, note.edited)] if note.edited < there.edited else []
        _keep(connection, there, [*former, *older])
    return "unchanged"


def _keep(connection: Connection, note: Note, former: Iterable[FormerText]) -> None:
    for text in former:
        if text.text and text.edited != note.edited:
            keep_text(
                connection, replace(note, text=text.text, tags=text.tags, version=text.version, edited=text.edited)
            )


def _signed(note: Note, person: Person | None) -> Note:
    """A note of somebody else with the name of who imports it."""
    if person is None:
        return note
    return replace(note, imported_by=None if note.author == person.name else person.name)


def _check_parent(connection: Connection, note: Note) -> None:
    if note.parent is None:
        return
    parent = read_note(connection, note.parent)
    if parent is None or parent.target != note.target or parent.parent is not None:
        raise Refusal(f"Note {note.id} replies to none of the file. Nothing was imported; export the notes again.")


def _import_view(connection: Connection, view: SavedView, person: Person | None) -> bool:
    """Add a saved view that is not here; where its name is taken, under a longer one."""
    if connection.scalar(select(views.c.id).where(views.c.id == view.id)) is not None:
        return False
    own = select(views.c.folded).where(views.c.corpus == view.origin.corpus)
    taken, name, number = set(connection.scalars(own)), view.name, 2
    while folded(name) in taken:
        name, number = f"{view.name[:90]} ({number})", number + 1
    author = view.author if person is None else person.name
    connection.execute(insert(views), row_of_view(replace(view, name=name, author=author)))
    return True
