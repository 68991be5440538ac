"""The database of notes: opened in the process that uses it, migrated at first use, and never waited for long.

Every piece of work runs in a thread of its own that is left behind when it takes too long: a driver that waits for a server
which was stopped cannot be interrupted. While threads are left behind, other work is refused at once.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import BoundedSemaphore, Lock, Thread
from time import monotonic, sleep
from typing import Any, TypeVar, cast
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from dashboard.access.private_file import PRIVATE
from dashboard.notes.address import (
    NEWER,
    OTHER,
    SILENT,
    UNCERTAIN,
    WRITING_OFF,
    NotesAddress,
    NotesUnavailable,
    notes_address,
    unavailable,
)
from dashboard.notes.note import REVISION, VERSION_TABLE, metadata
from dashboard.web.served_store import ServedStore

T = TypeVar("T")
Work = Callable[[Connection], T]
#: Longest time in seconds that a page waits for a read, and an author for a write.
READ, WRITE = 2.0, 8.0
#: Seconds that work on all notes may take: an export, an import, a table.
EVERY_NOTE = 60.0
#: Seconds after a missing answer during which nobody waits for the database.
SILENT_SECONDS = 5.0
#: Pieces of work at a time, each with a connection.
CONNECTIONS = 4
#: Bits of SQLite's error code that give the kind of the error; the other bits give its cause.
_KIND = 0xFF
#: PostgreSQL's lock under which one process migrates.
_MIGRATION = 0x68656164
_POSTGRES = {
    "connect_timeout": 2,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
    "application_name": "headscape",
    "options": f"-c statement_timeout={int(1000 * WRITE)} -c lock_timeout={int(1000 * WRITE)} "
    "-c idle_in_transaction_session_timeout=20000",
}


class Database:
    """Reads and writes in transactions; every failure is `NotesUnavailable`. Make it after a fork."""

    def __init__(self, address: NotesAddress, clock: Callable[[], float] = monotonic) -> None:
        self.address, self._clock = address, clock
        self._room = BoundedSemaphore(CONNECTIONS)
        self._opening = Lock()
        self._engine: Engine | None = None
        self._file: tuple[int, ...] | None = None
        self._silent_until = 0.0

    @classmethod
    def of(cls, served_store: ServedStore) -> "Database":
        """The database in the file beside the served store, unless the server is given another address."""
        return cls(notes_address(None, served_store.url))

    def read(self, work: Work[T], seconds: float = READ) -> T:
        """The result of some work that changes nothing, in one transaction. A file that does not exist yet reads as empty."""
        return self._within(seconds, SILENT, lambda: self._run(work, writes=False))

    def write(self, work: Work[T], seconds: float = WRITE) -> T:
        """The result of some work in one transaction: all of it is stored, or nothing."""
        return self._within(seconds, UNCERTAIN, lambda: self._run(work, writes=True))

    @property
    def is_read_only(self) -> bool:
        """Whether notes are in a file that this server may read and not write."""
        file = self.address.file
        return file is not None and not _may_write(file)

    def prepare(self) -> None:
        """Make the tables or bring them up to date, so that no note waits for it. A failure is reported at the next use."""
        with suppress(NotesUnavailable):
            self._within(WRITE, SILENT, lambda: self._run(lambda _: None, writes=True))

    def close(self) -> None:
        """Close the connections; the next work opens others."""
        with self._opening:
            self._dispose()

    # -- never waits long -----------------------------------------------------------------------------

    def _within(self, seconds: float, sentence: str, work: Callable[[], T]) -> T:
        if self.address.url is None:
            raise NotesUnavailable(self.address.reason)
        began = self._clock()
        if began < self._silent_until:
            raise NotesUnavailable(SILENT)
        if not self._room.acquire(timeout=seconds):
            raise self._silence(SILENT)
        result = _apart(work, self._room.release)
        try:
            return result.result(max(0.1, began + seconds - self._clock()))
        except Late:
            raise self._silence(sentence) from None

    def _silence(self, sentence: str) -> NotesUnavailable:
        self._silent_until = self._clock() + SILENT_SECONDS
        return NotesUnavailable(sentence)

    # -- one transaction ------------------------------------------------------------------------------

    def _run(self, work: Work[T], *, writes: bool) -> T:
        try:
            engine = self._opened(writes=writes)
            try:
                with engine.execution_options(writes=writes).begin() as connection:
                    return work(connection)
            finally:
                if engine is not self._engine and engine is not _empty():
                    engine.pool.dispose()  # closed while this work had a connection, which is back now
        except (SQLAlchemyError, OSError) as error:
            raise unavailable(error, writes=writes) from error

    def _opened(self, *, writes: bool) -> Engine:
        with self._opening:
            file, is_read_only = self.address.file, self.is_read_only
            if is_read_only and writes:
                raise NotesUnavailable(WRITING_OFF)
            there = None if file is None else _identity(file, changes=is_read_only)
            if file is not None and there is None and not writes:
                return _empty()
            if self._engine is None or there != self._file:
                self._dispose()
                self._engine = _read_only(file) if file and is_read_only else _migrated(self.address)
                self._file = None if file is None else _identity(file, changes=is_read_only)
            return self._engine

    def _dispose(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.pool.dispose()  # its work that goes on brings connections back to this pool, not to a new one


def _apart(work: Callable[[], T], done: Callable[[], None]) -> Future[T]:
    """Start some work in a thread that does not keep its process alive."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)
        finally:
            done()

    Thread(target=run, daemon=True, name="notes").start()
    return future


def _may_write(file: Path) -> bool:
    """Whether SQLite can write a file and the files beside it; True without a folder, which is reported in another way."""
    if not file.parent.is_dir():
        return True
    return os.access(file.parent, os.W_OK | os.X_OK) and (not file.exists() or os.access(file, os.W_OK))


def _identity(file: Path, *, changes: bool = False) -> tuple[int, ...] | None:
    """Identity of the file at a path: an open file that was deleted or replaced must not be written. With `changes`, of its content too."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    if file.is_dir():
        raise IsADirectoryError("a folder is in the place of the file")
    changed = [status, *map(Path.stat, filter(Path.exists, [_beside(file, "-wal")]))] if changes else []
    return (status.st_dev, status.st_ino, *(number for each in changed for number in (each.st_mtime_ns, each.st_size)))


def _beside(file: Path, ending: str) -> Path:
    """A file that SQLite keeps beside a database: `-wal` holds the last writes, `-shm` their index."""
    return file.with_name(f"{file.name}{ending}")


def _migrated(address: NotesAddress) -> Engine:
    assert address.url is not None
    if address.file and not address.file.exists():
        address.file.touch(PRIVATE)  # the file names people; SQLite gives the files beside it the same mode
    engine = sqlite_engine(address.url) if address.file else _postgres_engine(address.url)
    try:
        migrate(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _read_only(file: Path) -> Engine:
    """The engine of a file in a folder where SQLite can make no files: the file counts as unchanging, until it has changed."""
    log = _beside(file, "-wal")
    is_filled = log.exists() and log.stat().st_size > 0
    if is_filled and not _beside(file, "-shm").exists():
        engine = _in_memory(file, log)
    else:
        changing = {} if is_filled else {"immutable": "1"}
        url = URL.create(
            "sqlite", database=f"file:{quote(str(file.absolute()))}", query={"mode": "ro", "uri": "true", **changing}
        )
        engine = create_engine(url, pool_size=CONNECTIONS, max_overflow=0, pool_timeout=READ)
        _follow_sqlite(engine, writes=False)
    try:
        with engine.execution_options(writes=False).begin() as connection:
            if _revision(connection) != REVISION:
                raise NotesUnavailable(OTHER)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _in_memory(file: Path, log: Path) -> Engine:
    """A copy of a file with the notes that a killed server left in `-wal`: to read both in place, SQLite would make a file there."""
    engine = _memory_engine()
    with TemporaryDirectory(prefix="headscape-notes-") as folder:
        copy, _ = (shutil.copyfile(path, Path(folder, path.name)) for path in (file, log))
        with closing(sqlite3.connect(copy)) as source, engine.connect() as target:
            source.backup(cast(sqlite3.Connection, target.connection.driver_connection))
    return engine


def migrate(engine: Engine) -> None:
    """Bring the tables up to date, in one transaction that one process at a time enters."""
    with engine.execution_options(writes=False).begin() as connection:
        if _revision(connection) == REVISION:
            return
    with engine.execution_options(writes=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION})
        revision = _revision(connection)
        if revision != REVISION:
            _upgrade(connection, revision)


def _revision(connection: Connection) -> str | None:
    """The migration that a database is at; None for a new one."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}"))


def _upgrade(connection: Connection, revision: str | None) -> None:
    from alembic import command  # takes a third of a second

    config, scripts = migrations()
    if revision is not None and revision not in {script.revision for script in scripts.walk_revisions()}:
        raise NotesUnavailable(NEWER)
    config.attributes["connection"] = connection
    command.upgrade(config, REVISION)


def migrations() -> tuple[Any, Any]:
    """Alembic's configuration, and the folder of migrations in the package."""
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config, ScriptDirectory.from_config(config)


def sqlite_engine(url: URL) -> Engine:
    """The engine of an SQLite file: readers do not wait for the writer, and a writer locks the file before it reads."""
    engine = create_engine(url, pool_size=CONNECTIONS, max_overflow=0, pool_timeout=READ)
    _follow_sqlite(engine)
    return engine


def _postgres_engine(url: URL) -> Engine:
    return create_engine(
        url,
        pool_size=CONNECTIONS,
        max_overflow=0,
        pool_timeout=READ,
        pool_pre_ping=True,
        pool_recycle=600,
        connect_args=_POSTGRES,
    )


@cache
def _empty() -> Engine:
    """Tables without rows, in memory: for an address where no note was ever written."""
    engine = _memory_engine()
    metadata.create_all(engine)
    return engine


def _memory_engine() -> Engine:
    options = {"pool_size": 1, "max_overflow": 0, "connect_args": {"check_same_thread": False}}  # one thread at a time
    return create_engine("sqlite://", poolclass=QueuePool, **options)


def _follow_sqlite(engine: Engine, *, writes: bool = True) -> None:
    @event.listens_for(engine, "connect")
    def connect(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # Python's driver would begin transactions by itself, and later
        cursor = connection.cursor()
        if writes:
            cursor.execute(f"PRAGMA busy_timeout={int(1000 * WRITE)}")
            cursor.execute("PRAGMA foreign_keys=ON")
            write_ahead(cursor)
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def write_ahead(cursor: sqlite3.Cursor) -> None:
    """Let SQLite write ahead, so that readers do not wait for the writer. A new file is switched by one process at a time.

    For this statement SQLite does not wait `busy_timeout`: it fails at once where another process switches the same file.
    """
    until = monotonic() + WRITE
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _KIND != sqlite3.SQLITE_BUSY or monotonic() > until:
                raise
        sleep(0.02)
