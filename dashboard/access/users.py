"""Users and their sessions.

The users file has names, roles and hashes of passwords; `headscape users` writes it and a server reads it. A signed cookie says
who signed in and when; a file in the state folder says which sessions were ended.
"""

import hashlib
import re
import secrets
import time
import unicodedata
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

from flask import Flask, request, session
from flask.sessions import SecureCookieSessionInterface
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from werkzeug.security import check_password_hash, generate_password_hash

from dashboard.access.person import Role
from dashboard.access.private_file import AccessFileError, Watched, locked, write_private
from dashboard.access.settings import Access

NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")
#: Fewest and most characters of a password.
SHORTEST, LONGEST = 12, 256
#: A setting of scrypt from OWASP's Password Storage Cheat Sheet: 32 MiB, three times.
METHOD = "scrypt:32768:8:3"
REMEDY = "Restore a copy, or remove it and add users with `headscape users add NAME`."
#: Whether a hash (first) belongs to a password (second).
Check = Callable[[str, str], bool]
#: Seconds for which an ended session is remembered beyond its planned end: a clock may be set back meanwhile.
MARGIN = 86_400
SIGN_IN_AGAIN = "Remove it: everybody signs in again."


class User(BaseModel):
    """A person of the users file. A new password has a new stamp, which ends the sessions of the old one."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    role: Role
    password: str = Field(repr=False, pattern=r"^scrypt:\d+:\d+:\d+\$")
    stamp: str


_FILE = TypeAdapter(dict[str, User])
Users = Mapping[str, User]
#: Salt and digest of a hash that no password has.
_OF_NOBODY = f"{secrets.token_hex(8)}${secrets.token_hex(64)}"


def watched_users(file: Path) -> Watched[Users]:
    """The users of a file, as they are at each request."""
    parse: Callable[[bytes], Users] = _FILE.validate_json
    return Watched(file, parse, REMEDY)


def checked_user(users: Users, name: str, password: str, check: Check = check_password_hash) -> User | None:
    """The user of a name and a password; None where either is wrong.

    An unknown name takes as long as a known one: the password is checked once, against a hash that no password has.
    """
    user = users.get(name.strip().lower())
    is_right = check(user.password if user else f"{METHOD}${_OF_NOBODY}", _normal(password))
    return user if is_right else None


def add_user(file: Path, name: str, role: Role, password: str) -> None:
    """Add a user, to a new file where there is none."""
    if not NAME.fullmatch(name):
        raise AccessFileError(
            f"{name!a} is no name. Write up to 64 small letters, digits or any of . _ @ + -, a letter or digit first."
        )
    user = User(role=role, password=_hashed(password), stamp=secrets.token_hex(8))
    _change(file, partial(_added, name=name, user=user))


def remove_user(file: Path, name: str) -> None:
    """Remove a user, whose sessions end."""
    _change(file, partial(_without, name=name))


def change_user(file: Path, name: str, *, password: str | None = None, role: Role | None = None) -> None:
    """Give a user another password, which ends the sessions of the old one, or another role."""
    new: dict[str, object] = {} if role is None else {"role": role}
    if password is not None:
        new |= {"password": _hashed(password), "stamp": secrets.token_hex(8)}
    _change(file, lambda users: {**users, known_name(users, name): users[name].model_copy(update=new)})


def _added(users: Users, name: str, user: User) -> Users:
    if name in users:
        raise AccessFileError(f"There is a user {name} already. Change it with `headscape users password {name}`.")
    return {**users, name: user}


def _without(users: Users, name: str) -> Users:
    known = known_name(users, name)
    return {other: user for other, user in users.items() if other != known}


def known_name(users: Users, name: str) -> str:
    """The name of a user; AccessFileError where there is no such user."""
    if name not in users:
        raise AccessFileError(f"There is no user {name!a}. List them with `headscape users list`.")
    return name


def _change(file: Path, change: Callable[[Users], Users]) -> None:
    with locked(file):
        users = watched_users(file).value if file.exists() else {}
        write_private(file, _FILE.dump_json(dict(change(users)), indent=1))


def _hashed(password: str) -> str:
    if not SHORTEST <= len(password) <= LONGEST:
        raise AccessFileError(f"A password has {SHORTEST} to {LONGEST} characters. Choose another one.")
    return generate_password_hash(_normal(password), METHOD)


def _normal(password: str) -> str:
    """A password in Unicode form NFKC: keyboards write the same letter in several ways (NIST SP 800-63B)."""
    return unicodedata.normalize("NFKC", password)


class SignedIn(BaseModel):
    """Content of a session or token: person, policy and end. Sessions of an earlier `turn` of a person have ended."""

    model_config = ConfigDict(strict=True, frozen=True)
    id: str
    name: str
    stamp: str
    policy: str
    turn: int
    until: float


class Ended(BaseModel):
    """Ended sessions: the planned end of each by its id, and how often all sessions of a person were ended."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    sessions: dict[str, float] = {}
    people: dict[str, int] = {}


class EndedSessions:
    """The file of ended sessions. It counts turns of a person instead of comparing times: a clock can be wrong."""

    def __init__(self, state: Path) -> None:
        self._file = state / "ended.json"
        self._watched: Watched[Ended] = Watched(self._file, Ended.model_validate_json, SIGN_IN_AGAIN)

    def create(self) -> None:
        """Write the file where there is none: a server without it lets nobody in."""
        with locked(self._file):
            if not self._file.exists():
                self._write(Ended())

    @property
    def value(self) -> Ended:
        """The sessions that have been ended until now."""
        return self._watched.value

    def signed_in(self, name: str, stamp: str, policy: str, seconds: float) -> SignedIn:
        """Content of a new session or token of a person."""
        return SignedIn(
            id=secrets.token_urlsafe(16),
            name=name,
            stamp=stamp,
            policy=policy,
            turn=self.value.people.get(name, 0),
            until=time.time() + seconds,
        )

    def lasts(self, signed_in: SignedIn, policy: str) -> bool:
        """Whether a session or token of this policy has neither expired nor been ended."""
        ended = self.value
        return (
            signed_in.policy == policy
            and time.time() < signed_in.until
            and signed_in.id not in ended.sessions
            and signed_in.turn == ended.people.get(signed_in.name, 0)
        )

    def end(self, signed_in: SignedIn) -> None:
        """End one session."""
        with locked(self._file):
            ended = self.value
            lasting = {name: until for name, until in ended.sessions.items() if until + MARGIN > time.time()}
            self._write(Ended(sessions={**lasting, signed_in.id: signed_in.until}, people=ended.people))

    def end_all(self, name: str) -> None:
        """End all sessions and tokens of a person."""
        self.create()
        with locked(self._file):
            ended = self.value
            self._write(Ended(sessions=ended.sessions, people={**ended.people, name: ended.people.get(name, 0) + 1}))

    def _write(self, ended: Ended) -> None:
        write_private(self._file, ended.model_dump_json().encode())


class SignedCookie(SecureCookieSessionInterface):
    """Flask's signed cookie, secure where the request came by https, for this server's paths alone."""

    digest_method = staticmethod(hashlib.sha256)

    def get_cookie_secure(self, app: Flask) -> bool:  # noqa: ARG002
        """Whether browsers send the cookie by https only."""
        return request.is_secure

    def get_cookie_path(self, app: Flask) -> str:  # noqa: ARG002
        """The path under which the server answers."""
        return request.script_root or "/"


class Sessions:
    """The sessions of a server."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._ended = EndedSessions(access.state)
        self._ended.create()

    def register(self, server: Flask) -> None:
        """Let a server read and write the cookie. Its name holds a part of the key's digest: ports share cookies."""
        key = secret_key(self._access.state)
        server.session_interface = SignedCookie()
        server.secret_key = key
        server.config |= {
            "SESSION_COOKIE_NAME": f"headscape-{hashlib.sha256(key).hexdigest()[:8]}",
            "SESSION_COOKIE_HTTPONLY": True,
            "SESSION_COOKIE_SAMESITE": "Lax",
            "SESSION_REFRESH_EACH_REQUEST": False,
            "PERMANENT_SESSION_LIFETIME": timedelta(hours=self._access.session_hours),
        }

    @property
    def current(self) -> SignedIn | None:
        """The session of the request; None without one, and where it has expired or was ended."""
        try:
            signed_in = SignedIn.model_validate(session.get("person"))
        except ValidationError:
            return None
        return signed_in if self._ended.lasts(signed_in, self._access.policy) else None

    def begin(self, name: str, stamp: str = "") -> None:
        """Begin a session with a new id; the session before it ends, and nothing of it is taken over."""
        self.end()
        signed_in = self._ended.signed_in(name, stamp, self._access.policy, 3600 * self._access.session_hours)
        session["person"] = signed_in.model_dump()
        session.permanent = True

    def end_all(self, name: str) -> None:
        """End all sessions and tokens of a person."""
        self._ended.end_all(name)

    def forget_attempt(self) -> None:
        """Remove what an earlier attempt to sign in has left in the cookie: it would fill the cookie."""
        for name in [name for name in session if name != "person"]:
            session.pop(name)

    def end(self) -> None:
        """End the session of the request, if it has one: a copy of its cookie is then worth nothing."""
        signed_in = self.current
        session.clear()
        if signed_in:
            self._ended.end(signed_in)


def check_files(access: Access) -> None:
    """Make the files of sessions, and read all files once, before a server starts.

    Raises
    ------
    AccessFileError
        Where nobody could sign in.
    """
    if access.signs_in:
        secret_key(access.state)
        ended = EndedSessions(access.state)
        ended.create()
        _ = ended.value
    if access.kind == "password" and not watched_users(access.users).value:
        raise AccessFileError(f"{access.users} has no user. Add one with `headscape users add NAME`.")


def secret_key(state: Path) -> bytes:
    """The key that signs sessions: made once, and the same for all workers and restarts."""
    file = state / "key"
    with locked(file):
        if not file.exists():
            write_private(file, secrets.token_hex(32).encode())
        if file.stat().st_mode & 0o077:
            raise AccessFileError(f"Others can read {file}. Remove it, so that the next start makes another one.")
        key = file.read_bytes()
    if len(key) < 32:
        raise AccessFileError(f"{file} is damaged. {SIGN_IN_AGAIN}")
    return key
