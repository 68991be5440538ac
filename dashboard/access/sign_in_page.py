"""The page to sign in: complete in itself, without a script; and the links that lead to it and back."""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from flask import Flask, Response, redirect, render_template_string, request
from werkzeug.wrappers import Response as AnyResponse

from dashboard.access.private_file import AccessFileError
from dashboard.access.sessions import Sessions
from dashboard.web.assets import FONTS
from dashboard.web.errors import Refusal

#: Rules of its routes.
SIGN_IN, SIGN_OUT = "/login", "/logout"
#: Characters of a link to return to: it travels in a link, and in a cookie of 4 KB while a provider is asked.
LONGEST = 2_000
FOLDER = Path(__file__).parent
PAGE, STYLE = ((FOLDER / name).read_text("utf-8") for name in ("sign_in.html", "sign_in.css"))
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


def sign_in_page(link: str, problem: str = "", status: int = 200, *, name: str = "", provider: str = "") -> Response:
    """The page, which returns to a link; with a form, or with a link to a provider where one is named."""
    page = render_template_string(
        PAGE,
        style=STYLE,
        fonts=FONTS,
        root=request.script_root,
        link=link,
        problem=problem,
        name=name,
        provider=provider,
    )
    response = Response(page, status, mimetype="text/html")
    response.headers["Cache-Control"] = "no-store"
    response.headers["Content-Security-Policy"] = POLICY
    return response


def local_link(link: str, length: int = LONGEST) -> str:
    """A link to return to, if it stays on this server and is not too long; else its path, or the first page."""
    first = f"{request.script_root}/"
    is_local = link.startswith(first) and not link.startswith(("//", f"{first}/")) and "\\" not in link
    if not (is_local and link.isprintable()) or link.startswith((first + SIGN_IN[1:], first + SIGN_OUT[1:])):
        return first
    return link if len(link) <= length else local_link(link.partition("?")[0][:length])


def sign_in_link(link: str) -> str:
    """The page to sign in, which returns to a link."""
    return f"{request.script_root}{SIGN_IN}?next={quote(local_link(link), safe='/:,;=@!$()*')}"


def register(server: Flask, sessions: Sessions, provider: str = "") -> None:
    """Add the page, and the way to sign out."""
    sessions.register(server)

    @server.get(SIGN_IN)
    def show_sign_in_page() -> AnyResponse:
        link = local_link(request.args.get("next", ""))
        return sign_in_page(link, provider=provider)

    @server.post(SIGN_OUT)
    def sign_out() -> AnyResponse:
        try:
            sessions.end()
        except AccessFileError as error:
            raise Refusal(f"You are signed out here, but not where this session was copied to. {error}", 503) from error
        response = redirect(f"{request.script_root}{SIGN_IN}", 303)
        response.headers["Clear-Site-Data"] = '"cache"'
        return response
