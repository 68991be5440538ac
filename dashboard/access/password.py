"""Access by name and password, from the users file."""

import logging

from flask import Flask, Response, redirect, request
from werkzeug.wrappers import Response as AnyResponse

from dashboard.access import attempts, sign_in_page
from dashboard.access.gate import SIGN_IN, local_link
from dashboard.access.person import Person
from dashboard.access.private_file import AccessFileError
from dashboard.access.sessions import Sessions
from dashboard.access.settings import Access
from dashboard.access.users import User, checked_user, watched_users
from dashboard.web.admission import Turns, reader_left
from dashboard.web.errors import Refusal
from dashboard.web.library import Library

WRONG = "The name or the password is wrong. Try again."
#: Passwords that wait to be checked: one check takes a fifth of a second and 32 MiB.
WAITING = 16
BUSY = "Too many people sign in at this moment. Try again in a few seconds."

log = logging.getLogger("headscape.access")


class ByPassword:
    """People of the users file, each with a session."""

    def __init__(self, access: Access) -> None:
        self._sessions = Sessions(access)
        self._users = watched_users(access.users)
        self._turns = Turns(WAITING, BUSY)

    def register(self, server: Flask, library: Library) -> None:
        """Add the page to sign in and what its form is sent to."""
        sign_in_page.register(server, self._sessions)
        limits = attempts.limiter(server, library.folder, _too_many)
        view = self._sign_in
        for limit, key in (
            (attempts.ADDRESS, attempts.client),
            (attempts.NAME, attempts.name),
            (attempts.NAME_AT_ADDRESS, attempts.name_at_address),
        ):
            view = limits.limit(limit, key_func=key)(view)
        server.add_url_rule(SIGN_IN, "sign_in", view, methods=["POST"])

    @property
    def person(self) -> Person | None:
        """Whose session it is, with the role that the users file has now; None where the password is another one now."""
        signed_in = self._sessions.current
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
                log.warning("A wrong name or password from %s", attempts.client())
                return sign_in_page.sign_in_page(link, WRONG, 401, name=name[:64])
            self._sessions.begin(name, user.stamp)
        except AccessFileError as error:
            raise Refusal(str(error), 503) from error
        return redirect(link, 303)

    def _checked(self, name: str, password: str) -> User | None:
        with self._turns.turn(reader_left):
            return checked_user(self._users.value, name, password)


def _too_many(problem: str) -> Response:
    return sign_in_page.sign_in_page(local_link(request.form.get("next", "")), problem, 429)
