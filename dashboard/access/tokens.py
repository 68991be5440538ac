"""Tokens by which scripts of people with a password read `/api/1`, and nothing else: signed, and valid for some days.

A token ends as sessions do: with another password, with `headscape users revoke`, and when its person is removed.
"""

import hashlib
import re
from pathlib import Path

from flask import request
from itsdangerous import BadSignature, URLSafeSerializer
from pydantic import ValidationError

from dashboard.access.private_file import AccessFileError
from dashboard.access.users import EndedSessions, SignedIn, known_name, secret_key, watched_users

#: Paths that a token reads.
READ = re.compile(r"/api/\d+/")
BEARER = "Bearer "
#: Tells a token from a session, which the same key signs: neither is taken for the other.
KIND = "token"
MOST_DAYS = 366


class Tokens:
    """The tokens that the key of a state folder signs."""

    def __init__(self, state: Path) -> None:
        self._ended = EndedSessions(state)
        self._ended.create()
        self._signer = URLSafeSerializer(secret_key(state), KIND, signer_kwargs={"digest_method": hashlib.sha256})

    def issue(self, name: str, stamp: str, days: int) -> str:
        """A token of the user of this name whose password has this stamp."""
        return str(self._signer.dumps(self._ended.signed_in(name, stamp, KIND, 86_400 * days).model_dump()))

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
        return token if self._ended.lasts(token, KIND) else None


def issue_token(state: Path, users: Path, name: str, days: int) -> str:
    """A token of a user of the users file. AccessFileError for an unknown name, and for days that are too few or too many."""
    if not 1 <= days <= MOST_DAYS:
        raise AccessFileError(f"A token is valid for 1 to {MOST_DAYS} days. Choose such a number.")
    known = watched_users(users).value
    return Tokens(state).issue(name, known[known_name(known, name)].stamp, days)
