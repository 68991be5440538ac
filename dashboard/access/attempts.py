"""Attempts to sign in, counted over all workers: Flask-Limiter, with its counts in a database of SQLite."""

import hashlib
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from ipaddress import ip_address, ip_network
from math import ceil
from pathlib import Path
from urllib.parse import quote, unquote

from flask import Flask, Response, request
from flask_limiter import Limiter, RateLimitExceeded, RequestLimit
from limits.storage import Storage

#: Attempts of an address for a name; of all addresses for a name; of an address for all names. Nobody waits longer than
#: a minute, and somebody else's attempts for a name leave its owner free at another address.
NAME_AT_ADDRESS, NAME, ADDRESS = "5 per minute", "20 per minute", "60 per minute"
SCHEME = "headscape-attempts"
#: Seconds that a process waits while another one counts.
PATIENCE = 10
_TABLE = "CREATE TABLE IF NOT EXISTS attempts (key TEXT PRIMARY KEY, number INTEGER NOT NULL, until REAL NOT NULL)"
#: A time further away than a window is long was written before the clock was set back.
_OVER = "until <= :now OR until > :now + :seconds"
_COUNT = f"""
INSERT INTO attempts VALUES (:key, :amount, :now + :seconds) ON CONFLICT (key) DO UPDATE SET
number = CASE WHEN {_OVER} THEN 0 ELSE number END + :amount, until = CASE WHEN {_OVER} THEN :now + :seconds ELSE until END
RETURNING number
"""


class AttemptsFile(Storage):
    """Counts of Flask-Limiter in a file: each is one statement, so that two processes never count one attempt as none."""

    STORAGE_SCHEME = [SCHEME]  # noqa: RUF012

    def __init__(self, uri: str, wrap_exceptions: bool = False, **options: float | str | bool) -> None:
        super().__init__(uri, wrap_exceptions, **options)
        self._file = unquote(uri.removeprefix(f"{SCHEME}://"))
        self._run(_TABLE)

    @property
    def base_exceptions(self) -> type[Exception]:
        """What SQLite raises."""
        return sqlite3.Error

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count an attempt; how many there are in the window that the first of them has opened."""
        now = time.time()
        self._run("DELETE FROM attempts WHERE until <= :now", now=now)
        return int(self._run(_COUNT, key=key, amount=amount, now=now, seconds=expiry) or 0)

    def get(self, key: str) -> int:
        """How many attempts there are in the window."""
        return int(
            self._run("SELECT number FROM attempts WHERE key = :key AND until > :now", key=key, now=time.time()) or 0
        )

    def get_expiry(self, key: str) -> float:
        """When the window ends."""
        return float(self._run("SELECT until FROM attempts WHERE key = :key", key=key) or time.time())

    def check(self) -> bool:
        """Whether the file can be read."""
        return self._run("SELECT 1") == 1

    def reset(self) -> int | None:
        """Forget all attempts."""
        self._run("DELETE FROM attempts")
        return None

    def clear(self, key: str) -> None:
        """Forget attempts."""
        self._run("DELETE FROM attempts WHERE key = :key", key=key)

    def _run(self, statement: str, **values: float | str) -> float | None:
        with closing(sqlite3.connect(self._file, PATIENCE, isolation_level=None)) as database:
            database.execute("PRAGMA synchronous = OFF")  # they are worth nothing after a crash of the machine
            row = database.execute(statement, values).fetchone()
        value: float | None = row[0] if row else None
        return value


def limiter(server: Flask, folder: Path, refuse: Callable[[str], Response]) -> Limiter:
    """Limits of a server whose processes share a folder; `refuse` makes the page that says how long to wait."""

    def answer(limit: RequestLimit) -> Response:
        seconds = max(1, ceil(limit.reset_at - time.time()))
        response = refuse(f"Too many attempts to sign in. Try again in {seconds} s.")
        response.headers["Retry-After"] = str(seconds)
        return response

    server.register_error_handler(RateLimitExceeded, lambda error: error.get_response())
    location = f"{SCHEME}://{quote(str(folder / 'attempts.sqlite'))}"
    return Limiter(client, app=server, storage_uri=location, on_breach=answer)


def client() -> str:
    """The address of a client; the network of an IPv6 address, as whoever has one has all of it."""
    try:
        address = ip_address(request.remote_addr or "")
    except ValueError:
        return "unknown"
    return str(address) if address.version == 4 else str(ip_network((int(address), 64), strict=False))


def name() -> str:
    """The name in the form; its digest, as people type a password there, too."""
    return hashlib.sha256(request.form.get("name", "").strip().lower().encode()).hexdigest()


def name_at_address() -> str:
    """The name in the form and the address of its client."""
    return f"{name()} {client()}"
