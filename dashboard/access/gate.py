"""The gate: a person whom the server does not know gets no answer, except from the routes of health and of signing in.

Flask calls the gate first for every request, before any route is run, also where no route fits: a route that is added later
is behind the gate too.
"""

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import quote, urlsplit

from flask import Flask, Response, abort, redirect, request
from werkzeug.wrappers import Response as AnyResponse

from dashboard.access.person import LOCAL, Person, is_name, sign_request
from dashboard.access.private_file import AccessFileError
from dashboard.access.settings import Access
from dashboard.access.sign_in import SIGN_IN, SIGN_OUT, sign_in_link
from dashboard.web.addresses import AddressList, peer_of
from dashboard.web.errors import Refusal
from dashboard.web.served_store import ServedStore

#: Rules of routes that are open to everybody, beside those of signing in.
OPEN = frozenset({"/_healthz", "/_readyz"})
#: Rules of routes by which people sign in, and of the typeface of that page.
OF_SIGNING_IN = frozenset({SIGN_IN, f"{SIGN_IN}/provider", f"{SIGN_IN}/callback", SIGN_OUT, "/fonts/<name>"})
#: Beginnings of paths that pages fetch, and that nobody opens as a page.
FETCHED = ("/data/", "/_", "/assets/", "/fonts/")
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
#: Header that names the sign-in page to a refused script.
SIGN_IN_HEADER = "Sign-In"
ENDED = "Your session has ended. Sign in again."
#: No addresses: nobody reaches other routes without a name.
NOBODYS = AddressList()
#: The person that is noted for a request that is refused, or open to everybody.
NOBODY = Person("", "reader")


class Entrance(Protocol):
    """A kind of access: how a server learns who sends a request."""

    def register(self, server: Flask, served_store: ServedStore) -> None:
        """Add the routes by which people sign in; the folder of the served store is shared by the processes of the server."""

    @property
    def person(self) -> Person | None:
        """The person who sends the request; None where it is unknown."""


class Anybody:
    """Access without signing in: everybody who reaches the server may read and write."""

    person = LOCAL

    def register(self, server: Flask, served_store: ServedStore) -> None:
        """Add nothing."""


class ByProxy:
    """A proxy names the person in a header, and only that proxy may connect."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def register(self, server: Flask, served_store: ServedStore) -> None:
        """Add nothing: the proxy has the page to sign in."""

    @property
    def person(self) -> Person | None:
        """The person whom the proxy names; 403 where the connection is not the proxy's."""
        proxy = self._access.proxy
        assert proxy
        if peer_of(request.environ) not in proxy.addresses:
            abort(403, "This server answers to its proxy alone. Open the address of the proxy.")
        name = request.headers.get(proxy.header, "")
        # Two headers of a name arrive as one, with a comma: the client may have sent the first.
        return self._access.person(name) if is_name(name) and not set(name) & set(" ,;") else None


def guard(server: Flask, access: Access, served_store: ServedStore, by_address: Mapping[str, AddressList]) -> None:
    """Let in whom `access` admits. Call it before anything else is added to the server.

    `by_address` has rules of routes with the addresses that reach them without a name: collectors of metrics.
    """
    entrance = _entrance(access)
    open_rules = OPEN | OF_SIGNING_IN if access.signs_in else OPEN

    @server.before_request
    def admit() -> AnyResponse | None:
        sign_request(NOBODY)
        refuse_other_sites()
        rule = "" if request.url_rule is None else request.url_rule.rule
        if rule in open_rules or by_address.get(rule, NOBODYS).admits(request.environ):
            return None
        person = known_person(entrance)
        if person is None:
            return _refusal(access)
        sign_request(person)
        return None

    entrance.register(server, served_store)


def known_person(entrance: Entrance) -> Person | None:
    """The person who sends the request; Refusal (503) while a file that decides it cannot be read."""
    try:
        return entrance.person
    except AccessFileError as error:
        raise Refusal(str(error), 503) from error


def refuse_other_sites() -> None:
    """Refuse to change anything for a page of another site, signing in and out too.

    The rule of Go's `http.CrossOriginProtection`: browsers send `Sec-Fetch-Site` to servers with https and to this machine,
    and `Origin` to all. A client that sends neither is no browser, and has no cookie that another site could use.
    """
    if request.method in SAFE:
        return
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    is_own = site in ("same-origin", "none") if site else not origin or urlsplit(origin).netloc == request.host
    if not is_own:
        abort(403, "This request comes from a page of another site. Open this server's own page, then try again.")


def _entrance(access: Access) -> Entrance:
    # Authlib and limits take a moment to import, and not every server needs them.
    if access.kind == "password":
        from dashboard.access.sign_in import ByPassword

        return ByPassword(access)
    if access.kind == "oidc":
        from dashboard.access.provider import ByProvider

        return ByProvider(access)
    return ByProxy(access) if access.kind == "proxy" else Anybody()


def _refusal(access: Access) -> AnyResponse:
    if not access.signs_in:
        return Response("The proxy names nobody. Sign in there, then reload the page.", 401, mimetype="text/plain")
    if _opens_page():
        query = request.query_string.decode("ascii", "replace")
        return redirect(
            sign_in_link(f"{request.script_root}{quote(request.path)}" + (f"?{query}" if query else "")), 303
        )
    response = Response(ENDED, 401, mimetype="text/plain")
    response.headers[SIGN_IN_HEADER] = f"{request.script_root}{SIGN_IN}"
    response.headers["Cache-Control"] = "no-store"
    return response


def _opens_page() -> bool:
    """Whether a browser opens a page, and does not fetch a part of one."""
    if request.method not in ("GET", "HEAD") or request.path.startswith(FETCHED):
        return False
    mode = request.headers.get("Sec-Fetch-Mode")
    return mode == "navigate" if mode else "text/html" in request.headers.get("Accept", "")
