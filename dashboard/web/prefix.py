"""The path under which the server answers, such as `/team/heads` of `https://example.org/team/heads/head?layer=3`.

WSGI's SCRIPT_NAME holds it: routes do without it, and every address that a response contains begins with `root()`.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from flask import Flask, abort, has_request_context, redirect, request
from werkzeug.wrappers import Response

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

#: Headers in which a proxy names the path that it has taken away, such as jupyter-server-proxy.
TAKEN = ("HTTP_X_PROXYCONTEXTPATH", "HTTP_X_FORWARDED_PREFIX")
#: Cookie with a letter for each time that a browser was led to the prefix; how often that is no accident, within seconds.
LED, OFTEN, LED_SECONDS = "headscape-led", 3, 10
OUTSIDE = (
    "This server answers under {prefix}/ alone. Open {prefix}/; a proxy must pass on the whole path, or name what it takes "
    "away in the header X-Forwarded-Prefix."
)
_PATH = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)*")


def path_prefix(text: str) -> str:
    """A prefix without its last slash; "" for none.

    Raises
    ------
    ValueError
        Where the text is not a path.
    """
    prefix = text.strip().rstrip("/")
    if not _PATH.fullmatch(prefix):
        raise ValueError(
            f"--prefix={text} is not a path such as /team/heads. Use letters, digits and . _ ~ - between slashes."
        )
    return prefix


def root() -> str:
    """What the addresses in the response to this request begin with."""
    return request.root_path if has_request_context() else ""


def page_name(pathname: str) -> str:
    """The page that a path of the address bar names; "" for the first."""
    return pathname.removeprefix(f"{root()}/").strip("/")


def serve_under(server: Flask, prefix: str) -> None:
    """Answer under the prefix alone, also where a proxy takes it away and says so; its start and `/` lead to the first page."""
    answer = server.wsgi_app

    def strip(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if f"{path}/".startswith(f"{prefix}/"):
            environ |= {"SCRIPT_NAME": prefix, "PATH_INFO": path[len(prefix) :]}
        elif any(environ.get(name, "").rstrip("/") == prefix for name in TAKEN):
            environ["SCRIPT_NAME"] = prefix
        return answer(environ, start_response)

    def check_prefix() -> Response | None:
        query = request.query_string.decode("latin-1")
        answer = redirect(f"{prefix}/" + (f"?{query}" if query else ""))
        if request.root_path == prefix:
            return None if request.environ["PATH_INFO"] else answer
        led = request.cookies.get(LED, "")
        if request.path != "/" or len(led) >= OFTEN:  # led to the prefix, the browser comes back without it
            abort(404, OUTSIDE.format(prefix=prefix))
        answer.set_cookie(LED, f"{led}x", max_age=LED_SECONDS, httponly=True, samesite="Lax")
        return answer

    if prefix:
        server.wsgi_app = strip  # type: ignore[method-assign]
        server.before_request(check_prefix)
