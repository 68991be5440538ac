"""A database of notes that is full, gone, locked, damaged or silent costs the notes only, and a sentence says so."""

import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import psutil
import pytest
from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import Pool

from dashboard.notes import address, database
from dashboard.notes.address import (
    DAMAGED,
    FULL,
    GONE,
    LOCKED,
    NEWER,
    READ_ONLY,
    SILENT,
    SWITCHED_OFF,
    UNCERTAIN,
    UNREADABLE,
    WRITING_OFF,
    NotesUnavailable,
)
from dashboard.notes.database import SILENT_SECONDS, Database, write_ahead
from dashboard.notes.note import VERSION_TABLE, Draft
from dashboard.notes.notes import Notes
from dashboard.notes.search import Search
from tests.notes import ANN, HEAD, HEADS, HELLO, PostgresServer

Open = Callable[..., Notes]


def unavailable(sentence: str) -> Any:
    return pytest.raises(NotesUnavailable, check=lambda error: str(error) == sentence and error.status == 503)


@contextmanager
def setting(pragma: str) -> Iterator[None]:
    """Give this setting to every SQLite connection that is used within the context."""

    def use(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute(f"PRAGMA {pragma}")

    event.listen(Pool, "checkout", use)
    yield
    event.remove(Pool, "checkout", use)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "notes.sqlite3"


@pytest.fixture
def written(file: Path, opened: Open) -> Notes:
    """Notes in a file, with one note."""
    notes = opened(str(file))
    notes.add(ANN, HEADS, HEAD, HELLO)
    return notes


def test_reading_makes_no_file(file: Path, opened: Open) -> None:
    notes = opened(str(file))
    assert (notes.counts(HEADS), notes.of_target(HEAD), notes.find(Search()).total) == ({}, (), 0)
    assert not file.exists()


def test_a_server_makes_the_tables_before_the_first_note(file: Path, opened: Open) -> None:
    opened(str(file)).database.prepare()
    with closing(sqlite3.connect(file)) as read:
        assert read.execute("SELECT count(*) FROM headscape_notes").fetchall() == [(0,)]
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_place_that_cannot_be_written_does_not_keep_a_server_from_starting(tmp_path: Path, opened: Open) -> None:
    opened(str(tmp_path / "none" / "notes.sqlite3")).database.prepare()
    assert not (tmp_path / "none").exists()


@pytest.fixture
def unwritable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deny the writing of any file and folder to processes that open notes."""
    monkeypatch.setattr(database.os, "access", lambda _path, mode: not mode & os.W_OK)


@pytest.fixture
def read_only(written: Notes, file: Path, opened: Open, request: pytest.FixtureRequest) -> Notes:
    """The notes of a file, opened without the right to write the file or its folder."""
    written.database.close()
    request.getfixturevalue("unwritable")
    return opened(str(file))


def test_notes_in_a_folder_that_cannot_be_written_are_read_and_leave_no_trace(read_only: Notes, file: Path) -> None:
    assert [note.text for note in read_only.find(Search()).notes] == ["Hello"]
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_notes_that_a_killed_server_left_in_its_log_are_read_in_a_folder_that_cannot_be_written(
    written: Notes, file: Path, opened: Open, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    copy, log = tmp_path / "copy" / file.name, file.with_name(f"{file.name}-wal")
    copy.parent.mkdir()
    for path in (file, log):  # not its `-shm`
        shutil.copy(path, copy.parent)
    written.add(ANN, HEADS, HEAD, Draft("Another"))
    shutil.copy(log, tmp_path / "later")
    written.database.close()
    request.getfixturevalue("unwritable")
    notes = opened(str(copy))
    assert [note.text for note in notes.find(Search()).notes] == ["Hello"]
    shutil.copy(tmp_path / "later", copy.with_name(log.name))
    assert notes.find(Search()).total == 2
    assert sorted(path.name for path in copy.parent.iterdir()) == [file.name, log.name]


def test_where_nobody_can_write_a_sentence_says_so(read_only: Notes, file: Path) -> None:
    before = file.read_bytes()
    with unavailable(WRITING_OFF):
        read_only.add(ANN, HEADS, HEAD, HELLO)
    assert (read_only.find(Search()).total, file.read_bytes()) == (1, before)


def test_a_file_that_others_change_is_read_anew(read_only: Notes, file: Path) -> None:
    assert read_only.find(Search()).total == 1
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("UPDATE headscape_notes SET text = 'another'")
    os.utime(file, (0, 0))
    assert [note.text for note in read_only.find(Search()).notes] == ["another"]


@pytest.mark.parametrize(
    ("code", "to_reader", "to_author"),
    [
        ("SQLITE_CANTOPEN", GONE, GONE),
        ("SQLITE_READONLY_DIRECTORY", GONE, READ_ONLY),
        ("SQLITE_IOERR_READ", UNREADABLE, FULL),
    ],
)
def test_nobody_who_reads_is_told_to_send_something_again(code: str, to_reader: str, to_author: str) -> None:
    cause = sqlite3.OperationalError("message")
    cause.sqlite_errorname = code
    error = DBAPIError("statement", {}, cause)
    assert [str(address.unavailable(error, writes=writes)) for writes in (False, True)] == [to_reader, to_author]


def test_on_a_full_disk_notes_are_read_and_none_is_half_written(written: Notes, file: Path, opened: Open) -> None:
    notes = opened(str(file))
    with setting("max_page_count=1"):
        with unavailable(FULL):
            notes.add(ANN, HEADS, HEAD, Draft("long " * 2000))
        assert notes.find(Search()).total == 1
    with setting("max_page_count=100000"):
        assert notes.add(ANN, HEADS, HEAD, HELLO)
    assert written.find(Search()).total == 2


def test_a_file_that_cannot_be_written_is_read(written: Notes) -> None:
    with setting("query_only=1"), unavailable(READ_ONLY):
        written.add(ANN, HEADS, HEAD, HELLO)
    assert written.find(Search()).total == 1


def test_a_folder_in_the_place_of_the_file_is_named(written: Notes, file: Path) -> None:
    for path in file.parent.glob("notes.sqlite3*"):
        path.unlink()
    file.mkdir()
    for attempt in (lambda: written.counts(HEADS), lambda: written.add(ANN, HEADS, HEAD, HELLO)):
        with unavailable(GONE):
            attempt()


def test_a_place_without_a_folder_is_named(tmp_path: Path, opened: Open) -> None:
    with unavailable(GONE):
        opened(str(tmp_path / "none" / "notes.sqlite3")).add(ANN, HEADS, HEAD, HELLO)


def test_a_deleted_file_is_not_written_on(written: Notes, file: Path) -> None:
    for path in file.parent.glob("notes.sqlite3*"):
        path.unlink()
    note = written.add(ANN, HEADS, HEAD, Draft("new"))
    with closing(sqlite3.connect(file)) as read:
        assert read.execute("SELECT id FROM headscape_notes").fetchall() == [(note.id,)]


def test_a_file_that_is_no_database_is_left_alone(file: Path, opened: Open) -> None:
    file.write_bytes(b"precious " * 1000)
    with unavailable(DAMAGED):
        opened(str(file)).counts(HEADS)
    assert file.read_bytes() == b"precious " * 1000


def test_a_database_of_a_newer_version_is_left_alone(written: Notes, file: Path, opened: Open) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    with unavailable(NEWER):
        opened(str(file)).counts(HEADS)
    assert written.find(Search()).total == 1


def test_readers_do_not_wait_for_a_writer_and_a_writer_waits_a_while(file: Path, written: Notes, opened: Open) -> None:
    notes = opened(str(file))
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert notes.find(Search()).total == 1
        with setting("busy_timeout=200"), unavailable(LOCKED):
            notes.add(ANN, HEADS, HEAD, HELLO)
        other.execute("ROLLBACK")
    assert notes.add(ANN, HEADS, HEAD, HELLO)
    assert written.find(Search()).total == 2


class RefusedOnce(sqlite3.Cursor):
    """A cursor whose first statement SQLite refuses at once, as when two processes switch a new file."""

    is_refused = False

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        if self.is_refused:
            return super().execute(*statement)
        self.is_refused = True
        busy = sqlite3.OperationalError("database is locked")
        busy.sqlite_errorcode = sqlite3.SQLITE_BUSY_RECOVERY
        raise busy


def test_a_new_file_that_another_process_opens_at_the_same_time_is_waited_for(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        write_ahead(connection.cursor(RefusedOnce))
        assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]


def test_work_that_does_not_end_is_left_behind_and_others_are_refused_at_once(written: Notes, opened: Open) -> None:
    calls: list[int] = []
    now = [0.0]
    hangs = opened(str(written.database.address.file), clock=lambda: now[0]).database
    with unavailable(UNCERTAIN):
        hangs.write(lambda _: sleep(1), 0.05)
    with unavailable(SILENT):
        hangs.read(lambda _: calls.append(1))
    assert calls == []
    now[0] += SILENT_SECONDS
    assert hangs.read(lambda _: "answered", 60) == "answered"


def test_a_connection_is_closed_when_its_database_was_closed_meanwhile(file_notes: Notes) -> None:
    used: list[sqlite3.Connection] = []

    def close_meanwhile(connection: Connection) -> None:
        used.append(connection.connection.driver_connection)  # type: ignore[arg-type]
        file_notes.database.close()

    file_notes.database.write(close_meanwhile)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        used[0].execute("SELECT 1")


def test_switched_off_notes_say_so(opened: Open) -> None:
    notes = opened("none")
    assert not notes.is_on
    with unavailable(SWITCHED_OFF):
        notes.counts(HEADS)


@pytest.fixture
def on_server(postgres: PostgresServer, opened: Open) -> Notes:
    notes = opened(postgres.new_url())
    notes.add(ANN, HEADS, HEAD, HELLO)
    return notes


@pytest.mark.slow
def test_a_server_that_was_stopped_is_named_and_found_again(on_server: Notes, postgres: PostgresServer) -> None:
    postgres.stop()
    with pytest.raises(NotesUnavailable, match=r"Ask who|Try again"):
        on_server.find(Search())
    postgres.start()
    assert on_server.find(Search()).total == 1


def test_a_server_that_hangs_is_waited_for_once(on_server: Notes, postgres: PostgresServer) -> None:
    now = [0.0]
    server = psutil.Process(postgres.process.pid)
    everyone = [server, *server.children(recursive=True)]
    for process in everyone:
        os.kill(process.pid, signal.SIGSTOP)
    with closing(Database(on_server.database.address, clock=lambda: now[0])) as asked:
        try:
            for _ in range(2):
                with unavailable(SILENT):
                    Notes(asked).find(Search())
        finally:
            for process in everyone:
                os.kill(process.pid, signal.SIGCONT)
        now[0] += SILENT_SECONDS
        assert Notes(asked).find(Search()).total == 1


def test_an_unknown_database_is_named_without_its_password(
    postgres: PostgresServer, opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    url = postgres.new_url().replace("postgres@", "postgres:secret@").replace("/notes", "/none")
    with unavailable(GONE):
        opened(url).counts(HEADS)
    assert "does not exist" in caplog.text
    assert "secret" not in caplog.text
