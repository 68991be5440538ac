"""People who send requests to a server that nobody signs in to: a header says who."""

from flask import Flask, request

from dashboard.access.person import Person, sign_request

#: The header with a name.
NAMED = "X-Person"


def with_people(server: Flask) -> Flask:
    """The same server, for authors, and for a reader of that name."""

    def sign() -> None:
        name = request.headers.get(NAMED, "local")
        sign_request(Person(name, "reader" if name == "reader" else "author"))

    server.before_request_funcs.setdefault(None, []).insert(1, sign)  # after the gate, which lets everybody in
    return server
