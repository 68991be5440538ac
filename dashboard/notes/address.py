"""Where the notes of a server are: a file beside the store, a PostgreSQL database, or nowhere."""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from store.process import check_extra
from store.repository.access import local_path

#: What is put after the name of a store on disk.
SUFFIX = ".notes.sqlite3"
SWITCHED_OFF = "Notes are switched off on this server. Ask who runs it to start it without --notes=none."
NO_PLACE = "This store is not on a disk, so its notes need a database. Ask who runs the server to give --notes=URL."
_INVALID = "is no database for notes. Give a file, sqlite:///FILE, postgresql://USER@HOST/NAME, or none."
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgresql+psycopg": "postgresql+psycopg"}


@dataclass(frozen=True)
class NotesAddress:
    """The database of notes; without a URL there are no notes, for this reason. Its text hides the password."""

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
        Where it is none; the text may hold a password, so the sentence does not repeat it.
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


def _beside(store: str) -> NotesAddress:
    folder = local_path(store)
    if folder is None:
        return NotesAddress(None, NO_PLACE)
    return NotesAddress(URL.create("sqlite", database=f"{folder.absolute()}{SUFFIX}"))
