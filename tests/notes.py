"""Databases for notes, an SQLite file or a PostgreSQL server that the test starts, and people who write them."""

import getpass
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from sqlalchemy import insert

from dashboard.access.person import Person
from dashboard.notes.address import NotesAddress, NotesUnavailable, notes_address
from dashboard.notes.database import Database
from dashboard.notes.note import Draft, Origin, SavedView, new_id, now, views
from dashboard.notes.notes import Notes, row_of_view
from dashboard.notes.target import HeadTarget

T = TypeVar("T")
ANN, BOB, READER = Person("ann", "author"), Person("bob", "author"), Person("rita", "reader")
#: Stand-in for a corpus, with all that notes on heads read of one.
HEADS: Any = SimpleNamespace(
    name="tiny-1",
    snapshot="SNAPSHOT",
    layers=4,
    heads=4,
    attributes={"weights_sha256": "ab" * 32, "model_id": "lab/tiny", "corpus": "reviews-1"},
    title="lab/tiny",
    corpus_attributes={"name": "reviews"},
)
HEAD = HeadTarget.of(HEADS, 3, 1)
HELLO = Draft("Hello")
_PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
#: Seconds until a server that should answer is found missing.
PATIENCE = 60


def save_views(notes: Notes, count: int) -> None:
    """Save `count` views of the corpus at once, whose names are numbers."""
    saved = (SavedView(new_id(), f"{number:04}", "/head", Origin.of(HEADS), "ann", now()) for number in range(count))
    rows = list(map(row_of_view, saved))
    notes.database.write(lambda connection: connection.execute(insert(views), rows))


def retried(send: Callable[[], T]) -> T:
    """The result of `send`, tried again every half second while notes are unavailable, as an author does."""
    for _ in range(30):
        with suppress(NotesUnavailable):
            return send()
        time.sleep(0.5)
    return send()


class PostgresServer:
    """A server of PostgreSQL on a socket in a folder of its own, which is fast, as a power cut may lose its data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._user = "postgres" if getpass.getuser() == "root" else None  # PostgreSQL refuses to run as root
        if self._user:
            shutil.chown(folder, self._user)
        self._run(
            "initdb", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "--username=postgres", "-D", "data"
        )
        self._numbers = count()
        self.start()

    def start(self) -> None:
        options = ("fsync=off", "full_page_writes=off", "max_connections=120", "listen_addresses=")
        command = [_PROGRAMS[-1] / "postgres", "-D", "data", "-k", self.folder, *(f"-c{option}" for option in options)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, user=self._user, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        while subprocess.run([_PROGRAMS[-1] / "pg_isready", "-q", "-h", self.folder], check=False).returncode:
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGQUIT)  # no wait for those who are connected
        self.process.wait()

    def new_url(self) -> str:
        """The address of a new, empty database."""
        name = f"notes{next(self._numbers)}"
        self._run("createdb", "-h", str(self.folder), "-U", "postgres", name)
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [_PROGRAMS[-1] / program, *arguments],
            cwd=self.folder,
            user=self._user,
            check=True,
            capture_output=True,
            env={"PATH": "/usr/bin", "LC_ALL": "C"},
        )


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    if not _PROGRAMS:
        pytest.skip("Debian's package postgresql is not installed")
    folder = Path(tempfile.mkdtemp(prefix="headscape-postgres-"))
    server = PostgresServer(folder)
    yield server
    server.stop()
    shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An address as an operator gives it, of each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "notes.sqlite3")
    return request.getfixturevalue("postgres").new_url()


@pytest.fixture
def file_address(tmp_path: Path) -> NotesAddress:
    return notes_address(str(tmp_path / "notes.sqlite3"), "")


@pytest.fixture
def opened() -> Iterator[Callable[..., Notes]]:
    """A function that opens the notes of an address; they are closed after the test."""
    databases: list[Database] = []

    def opened(place: str, **given: Any) -> Notes:
        databases.append(Database(notes_address(place, ""), **given))
        return Notes(databases[-1])

    yield opened
    for database in databases:
        database.close()


@pytest.fixture
def notes(place: str, opened: Callable[[str], Notes]) -> Notes:
    """Notes in each kind of database."""
    return opened(place)


@pytest.fixture
def file_notes(file_address: NotesAddress, opened: Callable[[str], Notes]) -> Notes:
    """Notes in a file."""
    return opened(str(file_address.file))
