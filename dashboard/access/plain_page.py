"""Pages that are complete in themselves, without a script: to sign in, and of an account."""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from flask import Response, render_template_string, request
from markupsafe import Markup

from dashboard.web.assets import FONTS

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


def plain_page(title: str, template: str, status: int = 200, **fields: object) -> Response:
    """The page with a title and the content of a template, which no cache keeps: it may show what is secret."""
    root = request.script_root
    content = Markup(render_template_string(template, root=root, **fields))
    page = render_template_string(FRAME, title=title, style=STYLE, fonts=FONTS, root=root, content=content)
    response = Response(page, status, mimetype="text/html")
    response.headers["Cache-Control"] = "no-store"
    response.headers["Content-Security-Policy"] = POLICY
    return response
