"""Every note and saved view of a server as one JSON file, exported whole, and imported any number of times.

A note is known by its id. Of two versions the later edit wins, and the other one becomes a former text, so nothing is lost. A
file is checked whole, then imported in short steps: others read and write meanwhile. An import that ended halfway is completed
by another import of the same file.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from sqlalchemy import Connection, insert, select

from dashboard.access.person import LONGEST_NAME, Person
from dashboard.notes.database import EVERY_NOTE, Database
from dashboard.notes.note import (
    AT_ONCE,
    MOST_WORDS,
    FormerText,
    Note,
    Origin,
    SavedView,
    checked_draft,
    checked_id,
    checked_name,
    checked_text,
    every_former_text,
    folded,
    insert_note,
    keep_texts,
    notes,
    notes_of,
    now,
    read_note,
    storable,
    text_of,
    update_note,
    view_of,
    views,
    without_direction,
)
from dashboard.notes.notes import check_room, check_writes, row_of_view
from dashboard.notes.target import TITLE, lasting_link, parse_target
from dashboard.web.errors import Refusal
from store.phrases import many

#: The earliest time of a note, and how far a clock may be ahead of this server's.
FIRST, AHEAD = datetime(2000, 1, 1, tzinfo=UTC), timedelta(days=1)
IMPOSSIBLE = "Its times are impossible."
FORMAT: Literal["headscape-notes/1"] = "headscape-notes/1"
_NO_FILE = "This is not a file of notes. Choose a file that `headscape notes export` or the page of notes wrote."
#: The highest version that a file gives a note: the column has room for as many further edits.
HIGHEST = 2**30
Count = Annotated[int, Field(ge=1), AfterValidator(partial(min, HIGHEST))]
T = TypeVar("T")
#: Rows that a step writes: a step takes a few hundredths of a second.
ROWS = 500
Outcome = Literal["added", "updated", "unchanged"]
#: A note with its former texts.
Entry = tuple[Note, Sequence[FormerText]]
#: Outcome of a note's import, and former texts to keep, each with the note's id.
Result = tuple[Outcome, list[tuple[str, FormerText]]]


def _plain(text: str) -> str:
    try:
        return without_direction(checked_text(text))
    except Refusal as refusal:
        raise ValueError(str(refusal)) from refusal


Words = Annotated[str, Field(max_length=MOST_WORDS), AfterValidator(_plain)]
Author = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(_plain), Field(min_length=1)]


class Record(BaseModel):
    """A part of a file."""

    model_config = ConfigDict(extra="forbid")


class OriginRecord(Record):
    """An `Origin` in a file."""

    model: Words
    model_name: Words
    corpus: Words
    corpus_name: Words


class FormerRecord(Record):
    """A `FormerText` in a file."""

    version: Count
    text: str
    tags: list[str]
    edited: AwareDatetime


class NoteRecord(Record):
    """A `Note` in a file, with the key of its target, and with the former texts."""

    id: str
    target: str
    title: Annotated[str, Field(max_length=TITLE), AfterValidator(_plain)]
    origin: OriginRecord
    text: str
    tags: list[str]
    author: Author
    created: AwareDatetime
    edited: AwareDatetime
    version: Count
    parent: str | None
    deleted: AwareDatetime | None
    imported_by: Author | None
    former: list[FormerRecord]


class ViewRecord(Record):
    """A `SavedView` in a file."""

    id: str
    name: str
    link: str
    origin: OriginRecord
    author: Author
    created: AwareDatetime


class NotesFile(Record):
    """A whole file."""

    format: Literal["headscape-notes/1"]
    notes: list[NoteRecord]
    views: list[ViewRecord]


@dataclass(frozen=True)
class Imported:
    """The result of an import.

    Attributes
    ----------
    added, updated, unchanged
        Notes that are new here, notes of which the file has a later version, and all other notes.
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
    """The file with every note and every saved view. The file can be imported, whatever an older server let in."""

    def work(connection: Connection) -> dict[str, Any]:
        every = notes_of(connection, connection.execute(select(notes).order_by(notes.c.created, notes.c.id)).all())
        saved = map(view_of, connection.execute(select(views).order_by(views.c.created, views.c.id)))
        former = every_former_text(connection)
        records = [_note_record(note, former.get(note.id, ())) for note in every]
        return {"format": FORMAT, "notes": records, "views": list(map(_record, saved))}

    return TypeAdapter(dict[str, Any]).dump_json(database.read(work, EVERY_NOTE), indent=1)


def import_notes(database: Database, content: bytes, person: Person | None = None) -> Imported:
    """Import a file, or nothing of it where one of its notes is wrong.

    Without a `person`, when the operator imports, authors are as in the file. A person's name is added to notes of others that
    they import, and a person changes only their own notes.
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


def _note_record(note: Note, former: Iterable[FormerText]) -> dict[str, Any]:
    """A note with its former texts, in the form of `NoteRecord`."""
    names = {"target": note.target.key, "title": storable(note.title, TITLE)}
    by = note.imported_by and storable(note.imported_by, LONGEST_NAME)
    return _record(note) | names | {"imported_by": by, "former": list(map(asdict, former))}


def _record(written: Note | SavedView) -> dict[str, Any]:
    origin = {name: storable(value) for name, value in asdict(written.origin).items()}
    return asdict(written) | {"origin": origin, "author": storable(written.author, LONGEST_NAME)}


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
    """A possible time; Refusal for another. Tables hold times in UTC, in which the calendar's first and last hours have no room."""
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


def import_entries(
    database: Database, entries: Sequence[Entry], saved: Sequence[SavedView], person: Person | None
) -> Imported:
    """Write notes, replies after all others, then their former texts, then saved views."""
    own = [note for note, _ in entries]
    _check_once(own)
    _check_once(saved)
    database.read(lambda connection: _check(connection, own, saved), EVERY_NOTE)
    outcomes: list[Outcome] = []
    former: list[tuple[str, FormerText]] = []
    for some in _batches(entries):
        for outcome, kept in database.write(partial(_import_notes, some, person)):
            outcomes.append(outcome)
            former += kept
    for texts in _batches(former):
        database.write(partial(_keep, texts))
    added_views = sum(database.write(partial(_add_views, some, person)) for some in _batches(saved))
    counts = {name: outcomes.count(name) for name in ("added", "updated", "unchanged")}
    return Imported(**counts, views=added_views)


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + ROWS] for start in range(0, len(items), ROWS))


def _check_once(written: Sequence[Note | SavedView]) -> None:
    """Refuse notes, or saved views, of which two in the file have the same id."""
    for name, times in Counter(each.id for each in written).items():
        if times > 1:
            raise Refusal(f"The id {name} is there {times} times. Nothing was imported; leave one of them in the file.")


def _check(connection: Connection, own: Sequence[Note], saved: Sequence[SavedView]) -> None:
    """Refuse notes whose id belongs to another note here, replies to no note, and more saved views than are listed."""
    _check_room(connection, saved)
    names = list(dict.fromkeys(name for note in own for name in (note.id, note.parent) if name))
    known: dict[str, Note] = {}
    for start in range(0, len(names), AT_ONCE):
        rows = connection.execute(select(notes).where(notes.c.id.in_(names[start : start + AT_ONCE]))).all()
        known |= {note.id: note for note in notes_of(connection, rows)}
    of_file = {note.id: note for note in own}
    for note in own:
        there = known.get(note.id)
        if there is None and note.parent is not None:
            _check_parent(note, known.get(note.parent) or of_file.get(note.parent))
        elif there is not None:
            _check_same(note, there)


def _check_room(connection: Connection, saved: Sequence[SavedView]) -> None:
    known = set(connection.scalars(select(views.c.id)))
    for corpus, more in Counter(view.origin.corpus for view in saved if view.id not in known).items():
        check_room(connection, corpus, more)


def _check_parent(note: Note, parent: Note | None) -> None:
    if parent is None or parent.target != note.target or parent.parent is not None:
        raise Refusal(f"Note {note.id} replies to none of the file. Nothing was imported; export the notes again.")


def _check_same(note: Note, there: Note) -> None:
    if (there.target, there.parent, there.author) != (note.target, note.parent, note.author):
        raise Refusal(f"Note {note.id} is another one here. Remove it from the file, then import that again.", 409)


def _import_notes(entries: Sequence[Entry], person: Person | None, connection: Connection) -> list[Result]:
    return [_import_note(connection, note, former, person) for note, former in entries]


def _import_note(connection: Connection, note: Note, former: Sequence[FormerText], person: Person | None) -> Result:
    """Import a note without its former texts; the text that it had here is kept."""
    of_note = [(note.id, text) for text in former]
    there = read_note(connection, note.id, to_change=True)
    if there is None:
        insert_note(connection, _signed(note, person))
        return "added", of_note
    _check_same(note, there)
    if there.deleted or (person is not None and there.author != person.name):
        return "unchanged", []
    if note.edited <= there.edited:
        return "unchanged", [*of_note, (note.id, text_of(note))]
    if not note.deleted:
        keep_texts(connection, there.id, [text_of(there)])
    update_note(connection, replace(note, version=max(note.version, there.version + 1), imported_by=there.imported_by))
    return "updated", of_note


def _keep(texts: Sequence[tuple[str, FormerText]], connection: Connection) -> None:
    """Keep former texts, except those of a note that was deleted here, and the present text of a note."""
    for name, of_note in groupby(texts, key=itemgetter(0)):
        note = read_note(connection, name, to_change=True)
        if note is not None and not note.deleted:
            keep_texts(connection, name, [text for _, text in of_note if text.text and text.edited != note.edited])


def _signed(note: Note, person: Person | None) -> Note:
    """A note, with the name of the person who imports it where somebody else is the author."""
    if person is None:
        return note
    return replace(note, imported_by=None if note.author == person.name else person.name)


def _add_views(saved: Sequence[SavedView], person: Person | None, connection: Connection) -> int:
    return sum(_add_view(connection, view, person) for view in saved)


def _add_view(connection: Connection, view: SavedView, person: Person | None) -> bool:
    """Add a saved view that is not here; where its name is taken, under a longer name."""
    if connection.scalar(select(views.c.id).where(views.c.id == view.id)) is not None:
        return False
    own = select(views.c.folded).where(views.c.corpus == view.origin.corpus)
    taken, name, number = set(connection.scalars(own)), view.name, 2
    while folded(name) in taken:
        name, number = f"{view.name[:90]} ({number})", number + 1
    author = view.author if person is None else person.name
    connection.execute(insert(views), row_of_view(replace(view, name=name, author=author)))
    return True
