"""The users file: names, roles and hashes of passwords, which `headscape users` writes and a server reads."""

import re
import secrets
import unicodedata
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from werkzeug.security import check_password_hash, generate_password_hash

from dashboard.access.person import Role
from dashboard.access.private_file import AccessFileError, Watched, locked, write_private

NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")
#: Characters of a password.
SHORTEST, LONGEST = 12, 256
#: One of the settings that OWASP's Password Storage Cheat Sheet gives for scrypt: 32 MiB, three times.
METHOD = "scrypt:32768:8:3"
REMEDY = "Restore a copy, or remove it and add users with `headscape users add NAME`."


class User(BaseModel):
    """A person of the users file. A new password has a new stamp, which ends the sessions of the old one."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    role: Role
    password: str = Field(repr=False, pattern=r"^scrypt:\d+:\d+:\d+\$")
    stamp: str


_FILE = TypeAdapter(dict[str, User])
Users = Mapping[str, User]
#: Whether a password is that of a hash.
Check = Callable[[str, str], bool]
#: Ends the hash of nobody's password, which no password has.
_OF_NOBODY = f"{secrets.token_hex(8)}${secrets.token_hex(64)}"


def watched_users(file: Path) -> Watched[Users]:
    """The users of a file, as they are at each request."""
    parse: Callable[[bytes], Users] = _FILE.validate_json
    return Watched(file, parse, REMEDY)


def checked_user(users: Users, name: str, password: str, check: Check = check_password_hash) -> User | None:
    """The user of a name and a password; None where either is wrong.

    For an unknown name it takes as long as for a known one: nobody's password is checked, by one `check` of a hash.
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
    _change(file, lambda users: {**users, _known(users, name): users[name].model_copy(update=new)})


def _added(users: Users, name: str, user: User) -> Users:
    if name in users:
        raise AccessFileError(f"There is a user {name} already. Change it with `headscape users password {name}`.")
    return {**users, name: user}


def _without(users: Users, name: str) -> Users:
    known = _known(users, name)
    return {other: user for other, user in users.items() if other != known}


def _known(users: Users, name: str) -> str:
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
    """One form of a password: keyboards write the same letter in several ways (NIST SP 800-63B)."""
    return unicodedata.normalize("NFKC", password)
