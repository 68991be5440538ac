"""People who send requests to a server that nobody signs in to: a header says who."""

from flask import Flask, request

from dashboard.access.person import Person, sign_request

#: The header with a name.
NAMED = "X-Person"


def with_people(server: Flask) -> Flask:
    """The server, with every request signed by the person that the header names: an author, unless the name is `reader`."""

    def sign() -> None:
        name = request.headers.get(NAMED, "local")
        sign_request(Person(name, "reader" if name == "reader" else "author"))

    server.before_request_funcs.setdefault(None, []).insert(1, sign)  # after the gate, which lets everybody in
    return server
