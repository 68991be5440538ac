"""The page of an account: its person makes a token for scripts, and ends all sessions and tokens."""

import logging

from flask import Flask, redirect, request, session
from werkzeug.wrappers import Response as AnyResponse

from dashboard.access.person import current_person
from dashboard.access.plain_page import FOLDER, plain_page
from dashboard.access.private_file import AccessFileError
from dashboard.access.tokens import Tokens, WrongDays
from dashboard.access.users import Sessions, SignedIn
from dashboard.web.errors import Refusal

#: Rule of its route.
ACCOUNT = "/account"
PAGE = (FOLDER / "account.html").read_text("utf-8")
#: Days that the form has first.
DAYS = 30

log = logging.getLogger("headscape.access")


class Account:
    """The page of whoever has a session: a token never opens it, nor makes another token."""

    def __init__(self, sessions: Sessions, tokens: Tokens) -> None:
        self._sessions, self._tokens = sessions, tokens

    def register(self, server: Flask) -> None:
        """Add the page, and what its forms are sent to."""
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
        if signed_in is None:  # it has ended since the gate saw it
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
