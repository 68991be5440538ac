"""Notes and saved views as one JSON file: exported whole, checked whole, and imported as often as one likes.

A note is known by its id. Of two versions the later edit wins, and the other one becomes a former text, so nothing is lost.
"""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import Connection, select

from dashboard.access.person import Person
from dashboard.notes.database import Database
from dashboard.notes.importing import Entry, Imported, import_entries
from dashboard.notes.note import (
    FormerText,
    Note,
    Origin,
    SavedView,
    checked_draft,
    checked_id,
    checked_name,
    checked_text,
    now,
    without_direction,
)
from dashboard.notes.notes import check_writes
from dashboard.notes.rows import every_former_text, notes_of, view_of
from dashboard.notes.tables import notes, views
from dashboard.notes.target import TITLE, lasting_link, parse_target
from dashboard.web.errors import Refusal

#: Seconds that an export may take.
SECONDS = 60.0
#: The earliest time of a note, and how far a clock may be ahead of this server's.
FIRST, AHEAD = datetime(2000, 1, 1, tzinfo=UTC), timedelta(days=1)
IMPOSSIBLE = "Its times are impossible."
FORMAT: Literal["headscape-notes/1"] = "headscape-notes/1"
_NO_FILE = "This is not a file of notes. Choose a file that `headscape notes export` or the page of notes wrote."


def _plain(text: str) -> str:
    try:
        return without_direction(checked_text(text))
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


def export_notes(database: Database) -> bytes:
    """The file with every note and every saved view."""

    def work(connection: Connection) -> NotesFile:
        every = notes_of(connection, connection.execute(select(notes).order_by(notes.c.created, notes.c.id)).all())
        saved = map(view_of, connection.execute(select(views).order_by(views.c.created, views.c.id)))
        former = every_former_text(connection)
        records = [_note_record(note, former.get(note.id, ())) for note in every]
        return NotesFile(format=FORMAT, notes=records, views=[ViewRecord(**asdict(view)) for view in saved])

    return database.read(work, SECONDS).model_dump_json(indent=1).encode()


def import_notes(database: Database, content: bytes, person: Person | None = None) -> Imported:
    """Import a file; where one note of it is wrong, nothing of it.

    Without a `person`, as who runs the server does, authors are as in the file. A person adds notes of others under their
    own name too, and changes only their own.
    """
    if person is not None:
        check_writes(person)
    file = _read(content)
    records = sorted(file.notes, key=lambda record: record.parent is not None)
    return import_entries(database, list(map(_entry, records)), list(map(_view, file.views)), person)


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


def _entry(record: NoteRecord) -> Entry:
    """A note with its former texts. Refusal, which names the note, where one of its parts is wrong."""
    try:
        return _note(record), [_former(former) for former in record.former]
    except Refusal as refusal:
        raise Refusal(f"Note {record.id[:36]!a} of the file is wrong: {refusal} Nothing was imported.") from refusal


def _note(record: NoteRecord) -> Note:
    text, tags = ("", ()) if record.deleted else _checked(record)
    note = Note(
        id=checked_id(record.id),
        target=parse_target(record.target),
        title=record.title,
        origin=Origin(**record.origin.model_dump()),
        text=text,
        tags=tags,
        author=record.author,
        created=_checked_time(record.created),
        edited=_checked_time(record.edited),
        version=record.version,
        parent=record.parent and checked_id(record.parent),
        deleted=record.deleted and _checked_time(record.deleted),
        imported_by=record.imported_by,
    )
    if note.parent == note.id:
        raise Refusal("It replies to itself.")
    if note.edited < note.created:
        raise Refusal(IMPOSSIBLE)
    return note


def _checked(record: NoteRecord | FormerRecord) -> tuple[str, tuple[str, ...]]:
    draft = checked_draft(record.text, record.tags)
    return draft.text, draft.tags


def _checked_time(time: datetime) -> datetime:
    """A time that may be. The tables hold times in UTC, where the first and the last hours of the calendar have no room."""
    if not FIRST <= time <= now() + AHEAD:
        raise Refusal(IMPOSSIBLE)
    return time


def _former(record: FormerRecord) -> FormerText:
    text, tags = _checked(record)
    return FormerText(record.version, text, tags, _checked_time(record.edited))


def _view(record: ViewRecord) -> SavedView:
    origin, name = Origin(**record.origin.model_dump()), checked_name(record.name)
    created = _checked_time(record.created)
    return SavedView(checked_id(record.id), name, lasting_link(record.link), origin, record.author, created)
