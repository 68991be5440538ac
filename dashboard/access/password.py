"""Access by name and password, from the users file; the turns in which passwords are checked."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from weakref import WeakValueDictionary

from flask import Flask, redirect, request
from limits import RateLimitItem
from werkzeug.wrappers import Response as AnyResponse

from dashboard.access import attempts, sign_in_page
from dashboard.access.attempts import Attempts, TooMany, known_device, remember_device
from dashboard.access.person import Person
from dashboard.access.private_file import AccessFileError
from dashboard.access.sessions import Sessions
from dashboard.access.settings import Access
from dashboard.access.sign_in_page import SIGN_IN, local_link
from dashboard.access.users import User, checked_user, watched_users
from dashboard.web.admission import Turns, reader_left
from dashboard.web.errors import Refusal
from dashboard.web.library import Library

WRONG = "The name or the password is wrong. Try again."
#: Passwords that wait to be checked, of devices that nobody has signed in on, and of all others.
STRANGERS, KNOWN = 12, 4
#: Passwords of an address that wait to be checked: a check takes a fifth of a second and 32 MiB.
WAITING = 3
BUSY = "Too many people sign in at this moment. Try again in a few seconds."
BUSY_HERE = "Too many people sign in from your address at this moment. Try again in a few seconds."

log = logging.getLogger("headscape.access")


class ByPassword:
    """People of the users file, each with a session."""

    def __init__(self, access: Access) -> None:
        self._sessions = Sessions(access)
        self._users = watched_users(access.users)
        self._turns, self._turns_of_known = FairTurns(STRANGERS), FairTurns(KNOWN)

    def register(self, server: Flask, library: Library) -> None:
        """Add the page to sign in and what its form is sent to."""
        sign_in_page.register(server, self._sessions)
        self._attempts = Attempts(library.folder)
        server.add_url_rule(SIGN_IN, "sign_in", self._sign_in, methods=["POST"])

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
        except TooMany as error:
            return error.headers(sign_in_page.sign_in_page(link, str(error), 429))
        except AccessFileError as error:
            raise Refusal(str(error), 503) from error
        answer = redirect(link, 303)
        remember_device(answer, name, user)
        return answer

    def _checked(self, name: str, password: str) -> User | None:
        users, address = self._users.value, attempts.client()
        device = known_device(name, users.get(name))
        self._attempts.count(*_limits(name, address, device))
        turns = self._turns if device is None else self._turns_of_known
        with turns.turn(device or address, reader_left):
            return checked_user(users, name, password)


def _limits(name: str, address: str, device: str | None) -> tuple[tuple[RateLimitItem, str], ...]:
    if device is not None:
        return ((attempts.KNOWN_DEVICE, device),)
    of_name = attempts.digest(name)
    return (
        (attempts.ADDRESS, address),
        (attempts.NAME_AT_ADDRESS, f"{of_name} {address}"),
        (attempts.NAME, of_name),
    )


class FairTurns:
    """One password is checked at a time. However many an address sends, others wait for one of them.

    `most` passwords wait or are checked at once, and `waiting` do now: each holds a thread of the server.
    """

    def __init__(self, most: int) -> None:
        self._most, self.waiting = most, 0
        self._first = Turns(most, BUSY, name="passwords")
        self._queues: WeakValueDictionary[str, Turns] = WeakValueDictionary()
        self._lock = Lock()

    @contextmanager
    def turn(self, sender: str, has_left: Callable[[], bool]) -> Iterator[None]:
        """Wait for the turn of a sender and hold it within the context. Raises `Refusal` where a queue is full."""
        with self._lock:
            if self.waiting == self._most:
                raise Refusal(BUSY, 503)
            self.waiting += 1
            own = self._queues.setdefault(sender, Turns(WAITING, BUSY_HERE, name="passwords of an address"))
        try:
            with own.turn(has_left), self._first.turn(has_left):
                yield
        finally:
            with self._lock:
                self.waiting -= 1
