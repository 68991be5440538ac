"""The notes of a server: written by their authors, read by everybody, counted for marks; and saved views, links with names that a team shares.

Every function raises `NotesUnavailable` where the database cannot be used, and `Refusal` where a person may not do this or a text is
invalid.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Lock
from typing import NoReturn, TypeVar

from cachetools import LRUCache, TTLCache
from sqlalchemy import Connection, Row, delete, func, insert, select, update

from dashboard.access.person import Person
from dashboard.notes import search as searching
from dashboard.notes.database import Database
from dashboard.notes.note import (
    AT_ONCE,
    Draft,
    FormerText,
    Note,
    Origin,
    SavedView,
    Thread,
    checked_id,
    checked_name,
    folded,
    former_texts_of,
    insert_note,
    keep_texts,
    new_id,
    notes,
    notes_of,
    now,
    place_of,
    read_note,
    storable,
    text_of,
    time_text,
    update_note,
    view_of,
    views,
)
from dashboard.notes.search import Offers, Results, Search
from dashboard.notes.target import TITLE, Target, corpus_identity, lasting_link, parse_target
from dashboard.web.errors import Refusal
from dashboard.web.served_store import ServedStore
from store import Corpus

T = TypeVar("T")
#: Seconds for which counts are reused; this process' own writes show at once.
COUNTED = 2.0
#: Most corpora whose counts are held.
CORPORA = 16
READER = "You may read notes and not write them. Ask who runs the server for the role author."
#: Most saved views of a corpus.
MOST_VIEWS = 1_000
_THERE_IS_NONE = "There is no such saved view; it may have been deleted. Reload the page."


class Notes:
    """Notes in a database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._counts: TTLCache[tuple[str, str], Mapping[Target, int]] = TTLCache(CORPORA, COUNTED)
        self._versions: TTLCache[tuple[()], str] = TTLCache(1, COUNTED)
        self._fits: LRUCache[tuple[str, str], dict[Target, bool]] = LRUCache(CORPORA)
        #: Number of writes of this process: counts that were read before a write are not kept after it.
        self._writes = 0
        self._counting = Lock()

    @classmethod
    def of(cls, served_store: ServedStore) -> "Notes":
        """The notes of a served store."""
        return cls(served_store.service(Database))

    @property
    def is_on(self) -> bool:
        """Whether this server has notes; if not, `database.address.reason` says why."""
        return self.database.address.url is not None

    # -- writing --------------------------------------------------------------------------------------

    def add(self, person: Person, corpus: Corpus, target: Target, draft: Draft, name: str | None = None) -> Note:
        """Write a note on a target of a corpus. A note that is sent twice under one `name`, an id, is one note; another text is an edit."""
        check_writes(person)
        if not target.fits(corpus):
            raise Refusal("This model and its corpus do not have what the note is about. Reload the page.", 404)
        title = storable(target.title(corpus), TITLE)
        return self._add(_new(name, target, title, Origin.of(corpus), draft, person))

    def reply(self, person: Person, parent: str, draft: Draft, name: str | None = None) -> Note:
        """Reply to a note; a reply to a reply answers the same note."""
        check_writes(person)
        of = self.note(parent)
        new = _new(name, of.target, of.title, of.origin, draft, person)
        return self._add(replace(new, parent=of.parent or of.id))

    def edit(self, person: Person, name: str, version: int, draft: Draft) -> Note:
        """Replace the text of a version of one's own note; the former text is kept."""
        check_writes(person)

        def work(connection: Connection) -> Note:
            note = _own(connection, person, name)
            if (note.text, note.tags) == (draft.text, draft.tags):  # nothing changed, or sent twice
                return note
            if note.version != version:
                _refuse_stale(note)
            return _edited(connection, note, draft)

        return self._written(work)

    def delete(self, person: Person, name: str) -> None:
        """Delete one's own note with its former texts. In a thread with replies its place stays."""
        check_writes(person)
        name = checked_id(name)

        def work(connection: Connection) -> None:
            note = read_note(connection, name, to_change=True)
            if note is None or note.deleted:
                return
            _check_author(note, person)
            time = _after(note)
            update_note(
                connection,
                replace(note, text="", tags=(), version=note.version + 1, edited=time, deleted=time),
            )

        self._written(work)

    def _add(self, note: Note) -> Note:
        def work(connection: Connection) -> Note:
            there = read_note(connection, note.id, to_change=True)
            if there is None:
                insert_note(connection, note)
                return note
            if (there.author, there.target, there.parent) != (note.author, note.target, note.parent):
                raise Refusal("Another note has this id. Reload the page and write the note again.", 409)
            if there.deleted or (there.text, there.tags) == (note.text, note.tags):
                return there
            return _edited(connection, there, Draft(note.text, note.tags))

        return self._written(work)

    def _written(self, work: Callable[[Connection], T]) -> T:
        try:
            return self.database.write(work)
        finally:
            with self._counting:
                self._writes += 1
                self._counts.clear()
                self._versions.clear()

    # -- reading --------------------------------------------------------------------------------------

    def note(self, name: str) -> Note:
        """A note by its id. Refusal where there is no such note, or it was deleted."""
        note = self.database.read(lambda connection: read_note(connection, checked_id(name)))
        return _there(note)

    def history(self, name: str) -> tuple[FormerText, ...]:
        """The former texts of a note, the oldest first."""
        return self.database.read(lambda connection: former_texts_of(connection, checked_id(name)))

    def of_target(self, target: Target) -> tuple[Thread, ...]:
        """The threads on a target, the oldest first."""
        return self.of_targets([target])[target]

    def of_targets(self, targets: Iterable[Target]) -> Mapping[Target, tuple[Thread, ...]]:
        """The threads on each of some targets, the oldest first; empty for a target without notes."""
        each = dict.fromkeys(targets)
        found = self.database.read(lambda connection: _on(connection, list(each)))
        return {target: _threads([note for note in found if note.target == target]) for target in each}

    def thread(self, name: str) -> Thread:
        """The thread of a note or a reply."""
        note = self.note(name)
        threads = self.of_target(note.target)
        return next(thread for thread in threads if thread.note.id == (note.parent or note.id))

    def find(self, search: Search) -> Results:
        """The notes that match a search."""
        return self.database.read(lambda connection: searching.find(connection, search))

    def offers(self) -> Offers:
        """The tags, authors and models of all notes."""
        return self.database.read(searching.offers)

    def counts(self, corpus: Corpus) -> Mapping[Target, int]:
        """How many notes and replies there are on each target that fits a corpus."""
        key = (corpus.snapshot, corpus.name)
        with self._counting:
            counts, fits, writes = self._counts.get(key), self._fits.setdefault(key, {}), self._writes
        if counts is None:
            counts = {
                target: count for target, count in self.database.read(_counted).items() if _fit(target, corpus, fits)
            }
            with self._counting:
                if writes == self._writes:
                    self._counts[key] = counts
        return counts

    def version(self) -> str:
        """A text that differs after every change."""
        with self._counting:
            version, writes = self._versions.get(()), self._writes
        if version is None:
            version = self.database.read(_version)
            with self._counting:
                if writes == self._writes:
                    self._versions[()] = version
        return version


def _fit(target: Target, corpus: Corpus, fits: dict[Target, bool]) -> bool:
    """Whether a target fits a corpus; `fits` keeps the result: a check takes 0.1 ms, and a snapshot never changes."""
    if target not in fits:
        fits[target] = target.fits(corpus)
    return fits[target]


def check_writes(person: Person) -> None:
    """Refuse a person who may only read."""
    if not person.writes:
        raise Refusal(READER, 403)


def _new(name: str | None, target: Target, title: str, origin: Origin, draft: Draft, person: Person) -> Note:
    time = now()
    return Note(
        id=checked_id(name) if name else new_id(),
        target=target,
        title=title,
        origin=origin,
        text=draft.text,
        tags=draft.tags,
        author=person.name,
        created=time,
        edited=time,
    )


def _edited(connection: Connection, note: Note, draft: Draft) -> Note:
    """The note with another text; the former text is kept."""
    keep_texts(connection, note.id, [text_of(note)])
    edited = replace(note, text=draft.text, tags=draft.tags, version=note.version + 1, edited=_after(note))
    update_note(connection, edited)
    return edited


def _own(connection: Connection, person: Person, name: str) -> Note:
    note = _there(read_note(connection, checked_id(name), to_change=True))
    _check_author(note, person)
    return note


def _there(note: Note | None) -> Note:
    if note is None or note.deleted:
        raise Refusal("There is no such note; it may have been deleted. Reload the page.", 404)
    return note


def _check_author(note: Note, person: Person) -> None:
    if note.author != person.name:
        raise Refusal(f"This is a note of {note.author}. Reply to it instead.", 403)


def _refuse_stale(note: Note) -> NoReturn:
    raise Refusal(
        f"The note was edited elsewhere at {note.edited:%H:%M} UTC. Copy your text, reload the page and edit it again.",
        409,
    )


def _after(note: Note) -> datetime:
    """The time of a change: later than the change before, even where a clock was set back."""
    return max(now(), note.edited + timedelta(microseconds=1))


def _on(connection: Connection, targets: list[Target]) -> list[Note]:
    """All notes on some targets, the oldest first, deleted ones too."""
    places = [place_of(target) for target in targets]
    rows = [
        row
        for start in range(0, len(places), AT_ONCE)
        for row in connection.execute(
            select(notes)
            .where(notes.c.place.in_(places[start : start + AT_ONCE]))
            .order_by(notes.c.created, notes.c.id)
        )
    ]
    return notes_of(connection, rows)


def _threads(each: list[Note]) -> tuple[Thread, ...]:
    """Threads of the notes on one target; a deleted note has a thread only where somebody has replied."""
    replies: dict[str, list[Note]] = {}
    for note in each:
        if note.parent is not None and not note.deleted:
            replies.setdefault(note.parent, []).append(note)
    firsts = [note for note in each if note.parent is None and (not note.deleted or note.id in replies)]
    return tuple(Thread(note, tuple(replies.get(note.id, ()))) for note in firsts)


def _counted(connection: Connection) -> dict[Target, int]:
    """Number of notes on every target, in any corpus."""
    counted = select(func.max(notes.c.target), func.count()).where(notes.c.deleted.is_(None)).group_by(notes.c.place)
    return {parse_target(key): count for key, count in connection.execute(counted)}


def _version(connection: Connection) -> str:
    """The newest time, and the sum of versions, which every change raises: an imported note may be older than the newest one."""
    newest, versions = connection.execute(select(func.max(notes.c.edited), func.sum(notes.c.version))).one()
    return f"{newest} {versions}"


class SavedViews:
    """Saved views in a database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def of(cls, served_store: ServedStore) -> "SavedViews":
        """The saved views of a served store."""
        return cls(served_store.service(Database))

    def of_corpus(self, corpus: Corpus) -> tuple[SavedView, ...]:
        """The saved views of a corpus, of all its models, by name."""
        own = select(views).where(views.c.corpus == corpus_identity(corpus)).order_by(views.c.folded).limit(MOST_VIEWS)
        return self.database.read(lambda connection: tuple(map(view_of, connection.execute(own))))

    def view(self, name: str) -> SavedView:
        """A saved view by its id."""
        return self.database.read(lambda connection: view_of(_row_of_view(connection, name)))

    def save(self, person: Person, corpus: Corpus, name: str, href: str, view_id: str | None = None) -> SavedView:
        """Save a link under a name. A view that is sent twice under one id is saved once."""
        check_writes(person)
        identity = checked_id(view_id) if view_id else new_id()
        view = SavedView(identity, checked_name(name), lasting_link(href), Origin.of(corpus), person.name, now())
        return self.database.write(lambda connection: _save_view(connection, view))

    def rename(self, person: Person, view_id: str, name: str) -> SavedView:
        """Give one's own saved view another name."""
        check_writes(person)
        checked = checked_name(name)

        def work(connection: Connection) -> SavedView:
            row = _own_view(connection, person, view_id)
            _check_name_is_free(connection, row.corpus, checked, row.id)
            values = {"name": checked, "folded": folded(checked)}
            connection.execute(update(views).where(views.c.id == row.id).values(values))
            return view_of(_row_of_view(connection, view_id))

        return self.database.write(work)

    def delete(self, person: Person, view_id: str) -> None:
        """Delete one's own saved view."""
        check_writes(person)

        def work(connection: Connection) -> None:
            row = _own_view(connection, person, view_id)
            connection.execute(delete(views).where(views.c.id == row.id))

        self.database.write(work)


def _save_view(connection: Connection, view: SavedView) -> SavedView:
    there = connection.execute(select(views).where(views.c.id == view.id)).one_or_none()
    if there is not None and there.author == view.author:
        return view_of(there)
    _check_name_is_free(connection, view.origin.corpus, view.name, view.id)
    check_room(connection, view.origin.corpus, 1)
    connection.execute(insert(views), row_of_view(view))
    return view


def check_room(connection: Connection, corpus: str, more: int) -> None:
    """Refuse `more` further saved views of a corpus, where its list would not show all."""
    there = connection.scalar(select(func.count()).select_from(views).where(views.c.corpus == corpus)) or 0
    if there + more > MOST_VIEWS:
        raise Refusal(
            f"A corpus has at most {MOST_VIEWS:,} saved views, and this would make {there + more:,}. Delete some first.",
            409,
        )


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


def _check_name_is_free(connection: Connection, corpus: str, name: str, view_id: str) -> None:
    named = select(views.c.author).where(
        views.c.corpus == corpus, views.c.folded == folded(name), views.c.id != view_id
    )
    author = connection.scalar(named)
    if author is not None:
        raise Refusal(f"{author} has saved a view as “{name}”. Choose another name.", 409)


def _own_view(connection: Connection, person: Person, view_id: str) -> Row[tuple[str, ...]]:
    row = _row_of_view(connection, view_id)
    if row.author != person.name:
        raise Refusal(f"This is a saved view of {row.author}. Save it under another name instead.", 403)
    return row


def _row_of_view(connection: Connection, view_id: str) -> Row[tuple[str, ...]]:
    row = connection.execute(select(views).where(views.c.id == checked_id(view_id))).one_or_none()
    if row is None:
        raise Refusal(_THERE_IS_NONE, 404)
    return row
