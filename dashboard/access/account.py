"""Accounts: tokens, by which a person's scripts read `/api/1` and nothing else, and the page that makes tokens and ends all sessions.

Tokens are signed, and valid for some days. A token ends as sessions do: with another password, with `headscape users revoke`,
and when its person is removed. The token of a provider's person also ends when the settings of access change, or when the
provider names the person without an admitted group. The page is complete in itself, without a script, like the sign-in page.
"""

import hashlib
import logging
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from flask import Flask, Response, redirect, render_template_string, request, session
from itsdangerous import BadSignature, URLSafeSerializer
from markupsafe import Markup
from pydantic import ValidationError
from werkzeug.wrappers import Response as AnyResponse

from dashboard.access.person import current_person
from dashboard.access.private_file import AccessFileError
from dashboard.access.settings import Access
from dashboard.access.users import EndedSessions, Sessions, SignedIn, secret_key, watched_users
from dashboard.web.assets import FONTS
from dashboard.web.errors import Refusal

#: Paths that a token reads.
READ = re.compile(r"/api/\d+/")
BEARER = "Bearer "
#: Salt of a token's signature: the same key signs sessions, and neither is taken for the other.
KIND = "token"
MOST_DAYS = 366
#: Most days where a provider vouches for people: it reports a closed account only at the next sign-in, which never comes.
MOST_DAYS_BY_PROVIDER = 30
FOLDER = Path(__file__).parent
FRAME, STYLE = ((FOLDER / f"plain_page.{kind}").read_text("utf-8") for kind in ("html", "css"))
POLICY = "; ".join(
    [
        "default-src 'none'",
        f"style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'",
        "font-src 'self'",
        "form-action 'self'",
        "base-uri 'self'",
        "frame-ancestors 'self'",
    ]
)
#: Rule of the page's route.
ACCOUNT = "/account"
PAGE = (FOLDER / "account.html").read_text("utf-8")
#: Days that the form proposes.
DAYS = 30
log = logging.getLogger("headscape.access")


class WrongDays(AccessFileError):
    """Days that are too few or too many."""


class Tokens:
    """Tokens that the key of a state folder signs under one policy, each valid for at most `most_days`."""

    def __init__(self, state: Path, policy: str = KIND, most_days: int = MOST_DAYS) -> None:
        self.most_days = most_days
        self._policy = policy
        self._ended = EndedSessions(state)
        self._ended.create()
        self._signer = URLSafeSerializer(secret_key(state), KIND, signer_kwargs={"digest_method": hashlib.sha256})

    def issue(self, name: str, stamp: str, days: int) -> str:
        """A token of the person `name`; `stamp` is the stamp of the password. WrongDays for fewer than 1 or more than `most_days`."""
        if not 1 <= days <= self.most_days:
            raise WrongDays(f"A token is valid for 1 to {self.most_days} days. Choose such a number.")
        return str(self._signer.dumps(self._ended.signed_in(name, stamp, self._policy, 86_400 * days).model_dump()))

    @property
    def current(self) -> SignedIn | None:
        """The token of a request that reads `/api/1`; None for another request, without a token, and where the token has ended."""
        written = request.headers.get("Authorization", "")
        if request.method not in ("GET", "HEAD") or not READ.match(request.path) or not written.startswith(BEARER):
            return None
        try:
            token = SignedIn.model_validate(self._signer.loads(written.removeprefix(BEARER)))
        except (BadSignature, ValidationError):
            return None
        return token if self._ended.lasts(token, self._policy) else None


def tokens_of(access: Access) -> Tokens:
    """The tokens of the people who sign in to a server: tokens of a provider's people end when the access settings change."""
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


def plain_page(title: str, template: str, status: int = 200, **fields: object) -> Response:
    """A page with a title and the content of a template; no cache keeps it, because it may show secrets."""
    root = request.script_root
    content = Markup(render_template_string(template, root=root, **fields))
    page = render_template_string(FRAME, title=title, style=STYLE, fonts=FONTS, root=root, content=content)
    response = Response(page, status, mimetype="text/html")
    response.headers["Cache-Control"] = "no-store"
    response.headers["Content-Security-Policy"] = POLICY
    return response


class Account:
    """The account page of a person with a session: a token neither opens it nor makes another token."""

    def __init__(self, sessions: Sessions, tokens: Tokens) -> None:
        self._sessions, self._tokens = sessions, tokens

    def register(self, server: Flask) -> None:
        """Add the routes of the page and of its forms."""
        server.add_url_rule(ACCOUNT, "account", self._page, methods=["GET"])
        server.add_url_rule(ACCOUNT, "change_account", self._change, methods=["POST"])

    def _page(self, problem: str = "", status: int = 200, **fields: object) -> AnyResponse:
        name, most = current_person().name, self._tokens.most_days
        return plain_page(
            "Tokens for scripts",
            PAGE,
            status,
            problem=problem,
            name=name,
            days=min(DAYS, most),
            most_days=most,
            **fields,
        )

    def _change(self) -> AnyResponse:
        signed_in = self._sessions.current
        if signed_in is None:  # the session has ended since the gate saw it
            return redirect(self._address, 303)
        try:
            return self._end_all(signed_in) if "end" in request.form else self._issue(signed_in)
        except WrongDays as error:
            return self._page(str(error), 400)
        except AccessFileError as error:
            raise Refusal(str(error), 503) from error

    def _issue(self, signed_in: SignedIn) -> AnyResponse:
        days = request.form.get("days", 0, int)
        token = self._tokens.issue(signed_in.name, signed_in.stamp, days)
        log.info("%s made a token for %d days", signed_in.name, days)
        return self._page(token=token, valid_days=days)

    def _end_all(self, signed_in: SignedIn) -> AnyResponse:
        self._sessions.end_all(signed_in.name)
        session.clear()
        return redirect(self._address, 303)  # by way of signing in again

    @property
    def _address(self) -> str:
        return f"{request.script_root}{ACCOUNT}"
