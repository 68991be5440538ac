"""Tokens by which scripts of people who sign in read `/api/1`, and nothing else: signed, and valid for some days.

A token ends as sessions do: with another password, with `headscape users revoke`, and when its person is removed. That of a
provider's person ends when the settings of access change, too, or the provider names her without the groups that come in.
"""

import hashlib
import re
from pathlib import Path

from flask import request
from itsdangerous import BadSignature, URLSafeSerializer
from pydantic import ValidationError

from dashboard.access.private_file import AccessFileError
from dashboard.access.settings import Access
from dashboard.access.users import EndedSessions, SignedIn, secret_key, watched_users

#: Paths that a token reads.
READ = re.compile(r"/api/\d+/")
BEARER = "Bearer "
#: Tells a token from a session, which the same key signs: neither is taken for the other.
KIND = "token"
MOST_DAYS = 366
#: Where a provider vouches for people: it says that an account was closed when that signs in next, which it never does.
MOST_DAYS_BY_PROVIDER = 30


class WrongDays(AccessFileError):
    """Days that are too few or too many."""


class Tokens:
    """The tokens that the key of a state folder signs, by one policy, for so many days at most."""

    def __init__(self, state: Path, policy: str = KIND, most_days: int = MOST_DAYS) -> None:
        self.most_days = most_days
        self._policy = policy
        self._ended = EndedSessions(state)
        self._ended.create()
        self._signer = URLSafeSerializer(secret_key(state), KIND, signer_kwargs={"digest_method": hashlib.sha256})

    def issue(self, name: str, stamp: str, days: int) -> str:
        """A token of the person of this name, whose password has this stamp; WrongDays for days that are too few or too many."""
        if not 1 <= days <= self.most_days:
            raise WrongDays(f"A token is valid for 1 to {self.most_days} days. Choose such a number.")
        return str(self._signer.dumps(self._ended.signed_in(name, stamp, self._policy, 86_400 * days).model_dump()))

    @property
    def current(self) -> SignedIn | None:
        """Whose token the request has; None without one, where it has ended, and where the request is no reading of `/api/1`."""
        written = request.headers.get("Authorization", "")
        if request.method not in ("GET", "HEAD") or not READ.match(request.path) or not written.startswith(BEARER):
            return None
        try:
            token = SignedIn.model_validate(self._signer.loads(written.removeprefix(BEARER)))
        except (BadSignature, ValidationError):
            return None
        return token if self._ended.lasts(token, self._policy) else None


def tokens_of(access: Access) -> Tokens:
    """The tokens of the people who sign in to a server: those of a provider's people end when its settings change."""
    if access.kind == "password":
        return Tokens(access.state)
    return Tokens(access.state, f"{KIND} {access.policy}", MOST_DAYS_BY_PROVIDER)


def issue_token(state: Path, users: Path, name: str, days: int) -> str:
    """A token of a user of the users file. AccessFileError for an unknown name, and for wrong days."""
    user = watched_users(users).value.get(name)
    if user is None:
        raise AccessFileError(
            f"There is no user {name!a}. List them with `headscape users list`; people of a provider use the page /account."
        )
    return Tokens(state).issue(name, user.stamp, days)
