"""The address of a server's notes: a file beside the store, a PostgreSQL database, or nowhere; and what can be wrong with them.

Each failure is a sentence for readers and a line for the log. A sentence names no folder and no address: readers see names,
never where the server has them.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from dashboard.web.errors import Refusal
from store.process import check_extra
from store.repository.access import local_path
from store.repository.errors import StoreError

#: Ending of the file of notes, after the name of a store on disk.
SUFFIX = ".notes.sqlite3"
SWITCHED_OFF = "Notes are switched off on this server. Ask who runs it to start it without --notes=none."
NO_PLACE = "This store is not on a disk, so its notes need a database. Ask who runs the server to give --notes=URL."
_INVALID = "is no database for notes. Give a file, sqlite:///FILE, postgresql://USER@HOST/NAME, or none."
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgresql+psycopg": "postgresql+psycopg"}
SILENT = "The database of notes does not answer. Try again in a few seconds; pages and pictures work without it."
LOCKED = "The database of notes is busy. Try again in a few seconds."
FULL = "The disk of the notes is full or fails; nothing was saved. Ask who runs the server to free space, then send it again."
READ_ONLY = "The database of notes cannot be written. Ask who runs the server to make it writable, then send it again."
WRITING_OFF = (
    "Notes can be read here and not written. Ask who runs the server to make the file of notes and its folder writable."
)
UNREADABLE = "The database of notes cannot be read: its disk is full or fails. Ask who runs the server to free space."
OTHER = (
    "The database of notes is of another version, and cannot be written. Ask who runs the server to make it writable."
)
GONE = "The database of notes cannot be opened. Ask who runs the server to check --notes."
DAMAGED = "The database of notes is damaged. Ask who runs the server to restore it from a backup."
NEWER = "A newer Headscape has changed the database of notes. Ask who runs the server to update Headscape."
FAILED = "The database of notes failed; the server's log says why. Try again, or ask who runs the server."
COLLISION = "Somebody else wrote the same at this moment. Reload the page and try again."
UNCERTAIN = "The database of notes did not answer in time. Reload the page to see whether your text was saved."
#: Sentences for readers in place of those for authors: a reader has sent nothing.
_TO_READERS = {FULL: UNREADABLE, READ_ONLY: GONE, COLLISION: LOCKED}
#: Beginnings of SQLite's names of errors, and of PostgreSQL's codes.
_SENTENCES = {
    "SQLITE_FULL": FULL,
    "SQLITE_IOERR": FULL,  # also where there is no room for the files beside the database
    "SQLITE_READONLY": READ_ONLY,
    "SQLITE_BUSY": LOCKED,
    "SQLITE_LOCKED": LOCKED,
    "SQLITE_CANTOPEN": GONE,
    "SQLITE_NOTADB": DAMAGED,
    "SQLITE_CORRUPT": DAMAGED,
    "SQLITE_CONSTRAINT": COLLISION,
    "23": COLLISION,
    "53100": FULL,
    "53": LOCKED,
    "55P03": LOCKED,
    "57014": LOCKED,
    "40": LOCKED,
    "25006": READ_ONLY,
    "42501": READ_ONLY,
    "XX001": DAMAGED,
    "XX002": DAMAGED,
    "08": SILENT,
    "57P": SILENT,
    "ConnectionTimeout": SILENT,
}
log = logging.getLogger("headscape")


@dataclass(frozen=True)
class NotesAddress:
    """The database of notes; without a URL there are no notes, and `reason` says why. The text of an address hides the password."""

    url: URL | None
    reason: str = ""

    @property
    def file(self) -> Path | None:
        """The file of an SQLite database."""
        is_file = self.url is not None and self.url.get_backend_name() == "sqlite" and self.url.database
        return Path(self.url.database) if is_file and self.url and self.url.database else None

    def __str__(self) -> str:
        return "none" if self.url is None else self.url.render_as_string(hide_password=True)


def notes_address(text: str | None, store: str) -> NotesAddress:
    """The address that an operator gives; by default beside the store.

    Raises
    ------
    ValueError
        Where the text is no address; the text may hold a password, so the sentence does not repeat it.
    """
    if not text:
        return _beside(store)
    if text == "none":
        return NotesAddress(None, SWITCHED_OFF)
    if "://" not in text and not text.startswith("sqlite:"):
        return NotesAddress(URL.create("sqlite", database=text))
    try:
        url = make_url(text)
        driver = _DRIVERS[url.drivername]
    except (ArgumentError, KeyError, ValueError) as error:
        raise ValueError(f"--notes {_INVALID}") from error
    if not url.database:
        raise ValueError(f"--notes {_INVALID}")
    if driver != "sqlite":
        check_extra("postgres")
    return NotesAddress(url.set(drivername=driver))


def notes_of_store(text: str | None, store: str) -> NotesAddress:
    """The address for a store that should exist. StoreError where neither the store nor a file of notes beside it exists."""
    address, folder = notes_address(text, store), local_path(store)
    if not text and folder is not None and address.file and not folder.exists() and not address.file.exists():
        raise StoreError(
            f"There is no store {folder}, nor notes beside it. Name another store, or where its notes are."
        )
    return address


def _beside(store: str) -> NotesAddress:
    folder = local_path(store)
    if folder is None:
        return NotesAddress(None, NO_PLACE)
    return NotesAddress(URL.create("sqlite", database=f"{folder.absolute()}{SUFFIX}"))


class NotesUnavailable(Refusal):
    """The database of notes cannot be used now, with a sentence that ends in what to do next."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, 503)


def unavailable(error: SQLAlchemyError | OSError, *, writes: bool) -> NotesUnavailable:
    """The failure of a database, for a reader or for an author; the database's own message is logged."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or type(cause).__name__
    log.warning("notes: %s %.200s", code, _first_line(cause), extra={"kind": f"notes {code}"})
    beginnings = sorted(filter(str(code).startswith, _SENTENCES), key=len)
    if beginnings:
        sentence = _SENTENCES[beginnings[-1]]
        return NotesUnavailable(sentence if writes else _TO_READERS.get(sentence, sentence))
    no_connection = type(cause).__name__ in ("OperationalError", "TimeoutError")
    return NotesUnavailable(GONE if no_connection or isinstance(cause, OSError) else FAILED)


def _first_line(error: BaseException | None) -> str:
    return next(iter(str(error).splitlines()), "")
