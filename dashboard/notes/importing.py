"""Notes of a file, written in short steps: others read and write meanwhile.

What is wrong is found before the first step. An import that ended halfway is completed by another one of the same file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Literal, TypeVar

from sqlalchemy import Connection, insert, select

from dashboard.access.person import Person
from dashboard.notes.database import Database
from dashboard.notes.note import FormerText, Note, SavedView, folded
from dashboard.notes.rows import AT_ONCE, insert_note, keep_texts, notes_of, read_note, text_of, update_note
from dashboard.notes.tables import notes, views
from dashboard.notes.views import row_of_view
from dashboard.web.errors import Refusal
from store.phrases import many

T = TypeVar("T")
#: Rows that a step writes: it takes a few hundredths of a second.
ROWS = 500
#: Seconds that it may take to look for what is wrong.
SECONDS = 60.0
Outcome = Literal["added", "updated", "unchanged"]
#: A note with its former texts.
Entry = tuple[Note, Sequence[FormerText]]
#: What became of a note, and former texts to keep with its id.
Result = tuple[Outcome, list[tuple[str, FormerText]]]


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


def import_entries(
    database: Database, entries: Sequence[Entry], saved: Sequence[SavedView], person: Person | None
) -> Imported:
    """Write notes, replies after all others, then their former texts, then saved views."""
    database.read(lambda connection: _check(connection, [note for note, _ in entries]), SECONDS)
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


def _check(connection: Connection, own: Sequence[Note]) -> None:
    """Refuse notes that are others here, and replies to nothing."""
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


def _check_parent(note: Note, parent: Note | None) -> None:
    if parent is None or parent.target != note.target or parent.parent is not None:
        raise Refusal(f"Note {note.id} replies to none of the file. Nothing was imported; export the notes again.")


def _check_same(note: Note, there: Note) -> None:
    if (there.target, there.parent, there.author) != (note.target, note.parent, note.author):
        raise Refusal(f"Note {note.id} is another one here. Nothing was imported; remove it from the file.", 409)


def _import_notes(entries: Sequence[Entry], person: Person | None, connection: Connection) -> list[Result]:
    return [_import_note(connection, note, former, person) for note, former in entries]


def _import_note(connection: Connection, note: Note, former: Sequence[FormerText], person: Person | None) -> Result:
    """Import a note without its former texts; what it was here is kept."""
    of_note = [(note.id, text) for text in former]
    there = read_note(connection, note.id, to_change=True)
    if there is None:
        insert_note(connection, _signed(note, person))
        return "added", of_note
    _check_same(note, there)
    if person is not None and there.author != person.name:
        return "unchanged", []
    if note.edited <= there.edited:
        return "unchanged", [*of_note, (note.id, text_of(note))]
    if not note.deleted:
        keep_texts(connection, there.id, [text_of(there)])
    update_note(connection, replace(note, version=max(note.version, there.version + 1), imported_by=there.imported_by))
    return "updated", of_note


def _keep(texts: Sequence[tuple[str, FormerText]], connection: Connection) -> None:
    """Keep former texts, but those of a note that was deleted here, and the text that a note has."""
    for name, of_note in groupby(texts, key=itemgetter(0)):
        note = read_note(connection, name, to_change=True)
        if note is not None and not note.deleted:
            keep_texts(connection, name, [text for _, text in of_note if text.text and text.edited != note.edited])


def _signed(note: Note, person: Person | None) -> Note:
    """A note of somebody else with the name of who imports it."""
    if person is None:
        return note
    return replace(note, imported_by=None if note.author == person.name else person.name)


def _add_views(saved: Sequence[SavedView], person: Person | None, connection: Connection) -> int:
    return sum(_add_view(connection, view, person) for view in saved)


def _add_view(connection: Connection, view: SavedView, person: Person | None) -> bool:
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
