"""Signing in: the page, complete in itself, without a script; names and passwords of the users file; and attempts, counted over all workers.

The library limits counts attempts in an SQLite database. Whoever guesses passwords for a name can use up the attempts that all
addresses have for it. An owner's device has attempts of its own (OWASP, "Device Cookies"): a cookie marks it for one name,
and signs nobody in. The device is known until the cookie ends, or the name has another password.
"""

import hashlib
import logging
import secrets
import sqlite3
import time
from contextlib import closing
from ipaddress import ip_address, ip_network
from math import ceil
from pathlib import Path
from urllib.parse import quote, unquote

from flask import Flask, Response, current_app, redirect, request
from itsdangerous import BadSignature, Signer
from limits import RateLimitItem, parse
from limits.storage import MemoryStorage, Storage
from limits.strategies import FixedWindowRateLimiter
from werkzeug.wrappers import Response as AnyResponse

from dashboard.access.account import FOLDER, Account, Tokens, plain_page, tokens_of
from dashboard.access.person import Person
from dashboard.access.private_file import AccessFileError
from dashboard.access.settings import Access
from dashboard.access.users import Sessions, User, checked_user, watched_users
from dashboard.web.admission import FairWaitingLine, reader_left
from dashboard.web.errors import Refusal
from dashboard.web.served_store import ServedStore

#: Rules of the routes to sign in and to sign out.
SIGN_IN, SIGN_OUT = "/login", "/logout"
#: Most characters of a link to return to: it travels in a link, and in a cookie of 4 KB while a provider is asked.
LONGEST = 2_000
PAGE = (FOLDER / "sign_in.html").read_text("utf-8")
#: Attempts of an address for all names; of an address for a name; of all addresses for a name. Nobody waits longer than a
#: minute. An attempt that one limit refuses is not counted by the next: five attempts of an address count for a name, however
#: many it sends.
ADDRESS, NAME_AT_ADDRESS, NAME = parse("60 per minute"), parse("5 per minute"), parse("20 per minute")
#: Attempts of a device that has signed in before, for the name of that sign-in; no other limit counts them.
KNOWN_DEVICE = parse("10 per minute")
SCHEME = "headscape-attempts"
#: Seconds that a process waits while another process counts.
PATIENCE = 10
log = logging.getLogger("headscape.access")
_TABLE = "CREATE TABLE IF NOT EXISTS attempts (key TEXT PRIMARY KEY, number INTEGER NOT NULL, until REAL NOT NULL)"
#: Whether a window is over. An end that lies much further ahead than a window is long was written before the clock was set back.
#: `PATIENCE` is allowed on top: a process whose turn comes late reads a count that another one made after it had read the clock.
_OVER = f"until <= :now OR until > :now + :seconds + {PATIENCE}"
_COUNT = f"""
INSERT INTO attempts VALUES (:key, :amount, :now + :seconds) ON CONFLICT (key) DO UPDATE SET
number = CASE WHEN {_OVER} THEN 0 ELSE number END + :amount, until = CASE WHEN {_OVER} THEN :now + :seconds ELSE until END
RETURNING number
"""
#: Seconds for which a browser keeps the device cookie.
DEVICE_SECONDS = 365 * 86_400
#: Ending of the device cookie's name, after the name of the session cookie.
DEVICE_SUFFIX = "-device"
WRONG = "The name or the password is wrong. Try again."
#: Most passwords that wait to be checked, from unknown and from known devices.
STRANGERS, KNOWN = 12, 4
#: Most passwords of an address that wait to be checked: a check takes a fifth of a second and 32 MiB.
WAITING = 3
BUSY = "Too many people sign in at this moment. Try again in a few seconds."
BUSY_HERE = "Too many people sign in from your address at this moment. Try again in a few seconds."


def sign_in_page(link: str, problem: str = "", status: int = 200, *, name: str = "", provider: str = "") -> Response:
    """The sign-in page, which returns to a link; it has a form, or a link to the provider where one is named."""
    return plain_page("Sign in", PAGE, status, link=link, problem=problem, name=name, provider=provider)


def local_link(link: str, length: int = LONGEST) -> str:
    """A link to return to, if it stays on this server and is not too long; else its path, or the first page."""
    first = f"{request.script_root}/"
    is_local = link.startswith(first) and not link.startswith(("//", f"{first}/")) and "\\" not in link
    if not (is_local and link.isprintable()) or link.startswith((first + SIGN_IN[1:], first + SIGN_OUT[1:])):
        return first
    return link if len(link) <= length else local_link(link.partition("?")[0][:length])


def sign_in_link(link: str) -> str:
    """URL of the sign-in page, which returns to a link."""
    return f"{request.script_root}{SIGN_IN}?next={quote(local_link(link), safe='/:,;=@!$()*')}"


def register(server: Flask, sessions: Sessions, tokens: Tokens, provider: str = "") -> None:
    """Add the page, the way to sign out, and the page of an account."""
    sessions.register(server)
    Account(sessions, tokens).register(server)

    @server.get(SIGN_IN)
    def show_sign_in_page() -> AnyResponse:
        link = local_link(request.args.get("next", ""))
        return sign_in_page(link, provider=provider)

    @server.post(SIGN_OUT)
    def sign_out() -> AnyResponse:
        try:
            sessions.end()
        except AccessFileError as error:
            raise Refusal(f"You are signed out here, but not where this session was copied to. {error}", 503) from error
        response = redirect(f"{request.script_root}{SIGN_IN}", 303)
        response.headers["Clear-Site-Data"] = '"cache"'
        return response


class ByPassword:
    """People of the users file, each with a session."""

    def __init__(self, access: Access) -> None:
        self._sessions, self._tokens = Sessions(access), tokens_of(access)
        self._users = watched_users(access.users)
        self._turns, self._turns_of_known = password_turns(STRANGERS), password_turns(KNOWN)

    def register(self, server: Flask, served_store: ServedStore) -> None:
        """Add the sign-in page and the route of its form."""
        register(server, self._sessions, self._tokens)
        self._attempts = Attempts(served_store.folder)
        server.add_url_rule(SIGN_IN, "sign_in", self._sign_in, methods=["POST"])

    @property
    def person(self) -> Person | None:
        """The person of the session or token, with the role in the users file; None without either, or with a changed password."""
        signed_in = self._sessions.current or self._tokens.current
        user = self._users.value.get(signed_in.name) if signed_in else None
        if signed_in is None or user is None or user.stamp != signed_in.stamp:
            return None
        return Person(signed_in.name, user.role)

    def _sign_in(self) -> AnyResponse:
        name = request.form.get("name", "").strip().lower()
        link = local_link(request.form.get("next", ""))
        try:
            user = self._checked(name, request.form.get("password", ""))
            if user is None:
                log.warning("A wrong name or password from %s", client())
                return sign_in_page(link, WRONG, 401, name=name[:64])
            self._sessions.begin(name, user.stamp)
        except TooMany as error:
            return error.headers(sign_in_page(link, str(error), 429))
        except AccessFileError as error:
            raise Refusal(str(error), 503) from error
        answer = redirect(link, 303)
        remember_device(answer, name, user)
        return answer

    def _checked(self, name: str, password: str) -> User | None:
        users, address = self._users.value, client()
        device = known_device(name, users.get(name))
        self._attempts.count(*_limits(name, address, device))
        turns = self._turns if device is None else self._turns_of_known
        with turns.turn(device or address, reader_left):
            return checked_user(users, name, password)


def _limits(name: str, address: str, device: str | None) -> tuple[tuple[RateLimitItem, str], ...]:
    if device is not None:
        return ((KNOWN_DEVICE, device),)
    of_name = digest(name)
    return (
        (ADDRESS, address),
        (NAME_AT_ADDRESS, f"{of_name} {address}"),
        (NAME, of_name),
    )


def password_turns(most: int) -> FairWaitingLine:
    """The waiting line of at most `most` passwords that are to be checked."""
    return FairWaitingLine(most, WAITING, BUSY, BUSY_HERE, name="passwords")


class AttemptsFile(Storage):
    """Counts of attempts in a file: each count is one statement, so that the attempts of two processes all count."""

    STORAGE_SCHEME = [SCHEME]  # noqa: RUF012

    def __init__(self, uri: str, wrap_exceptions: bool = False, **options: float | str | bool) -> None:
        super().__init__(uri, wrap_exceptions, **options)
        self._file = unquote(uri.removeprefix(f"{SCHEME}://"))

    @property
    def base_exceptions(self) -> type[Exception]:
        """The base class of SQLite's errors."""
        return sqlite3.Error

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count an attempt; returns the number of attempts in the window, which the first one opened."""
        now = time.time()
        self._run("DELETE FROM attempts WHERE until <= :now", now=now)
        return int(self._run(_COUNT, key=key, amount=amount, now=now, seconds=expiry) or 0)

    def get(self, key: str) -> int:
        """Number of attempts in the window."""
        return int(
            self._run("SELECT number FROM attempts WHERE key = :key AND until > :now", key=key, now=time.time()) or 0
        )

    def get_expiry(self, key: str) -> float:
        """Time at which the window ends, in seconds since the epoch."""
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
            database.execute("PRAGMA synchronous = OFF")  # counts are worth nothing after a crash of the machine
            database.execute(_TABLE)
            row = database.execute(statement, values).fetchone()
        value: float | None = row[0] if row else None
        return value


class TooMany(Exception):
    """Too many attempts to sign in; the next one is possible after `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many attempts to sign in. Try again in {seconds} s.")
        self.seconds = seconds

    def headers(self, page: Response) -> Response:
        """The page with the header `Retry-After`, which tells programs when to try again."""
        page.headers["Retry-After"] = str(self.seconds)
        return page


class Attempts:
    """The attempts to sign in to a server, whose processes share a folder."""

    def __init__(self, folder: Path) -> None:
        self._shared = FixedWindowRateLimiter(AttemptsFile(f"{SCHEME}://{quote(str(folder / 'attempts.sqlite'))}"))
        self._own = FixedWindowRateLimiter(MemoryStorage())

    def count(self, *limits: tuple[RateLimitItem, str]) -> None:
        """Count an attempt under each limit and its key, until a limit refuses it. Raises `TooMany`.

        Where the file cannot be written, as on a full disk, this worker counts its own attempts.
        """
        for limit, key in limits:
            try:
                _hit(self._shared, limit, key)
            except sqlite3.Error as error:
                log.warning("Attempts to sign in are counted for each worker alone: %s", error)
                _hit(self._own, limit, key)


def _hit(limiter: FixedWindowRateLimiter, limit: RateLimitItem, key: str) -> None:
    if not limiter.hit(limit, key):
        raise TooMany(max(1, ceil(limiter.get_window_stats(limit, key).reset_time - time.time())))


def client() -> str:
    """The address of a client; of an IPv6 address its /64 network, as one client has all of that."""
    try:
        address = ip_address(request.remote_addr or "")
    except ValueError:
        return "unknown"
    return str(address) if address.version == 4 else str(ip_network((int(address), 64), strict=False))


def digest(name: str) -> str:
    """Digest of a name, under which attempts are counted: people also type passwords in its field."""
    return hashlib.sha256(name.encode()).hexdigest()


def known_device(name: str, user: User | None) -> str | None:
    """The id of the device of a request, where this person has signed in on it; else None."""
    cookie = request.cookies.get(_cookie_name())
    if user is None or not cookie:
        return None
    try:
        return _signer(name, user).unsign(cookie).decode()
    except BadSignature:
        return None


def remember_device(response: AnyResponse, name: str, user: User) -> None:
    """Set the cookie of a known device. The cookie is sent to the sign-in page alone, and does not hold the name."""
    identity = known_device(name, user) or secrets.token_urlsafe(16)
    response.set_cookie(
        _cookie_name(),
        _signer(name, user).sign(identity).decode(),
        max_age=DEVICE_SECONDS,
        path=f"{request.script_root}{SIGN_IN}",
        secure=request.is_secure,
        httponly=True,
        samesite="Lax",
    )


def _cookie_name() -> str:
    return f"{current_app.config['SESSION_COOKIE_NAME']}{DEVICE_SUFFIX}"


def _signer(name: str, user: User) -> Signer:
    key = current_app.secret_key
    assert key is not None
    return Signer(key, salt=f"device\n{name}\n{user.stamp}", digest_method=hashlib.sha256)
