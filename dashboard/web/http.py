"""Data routes: their URLs, what a request asks for, brought into bounds, and how bytes leave the server."""

import gzip
from math import isfinite
from typing import Literal, NoReturn

from flask import Flask, Response, abort, request

from dashboard.web.library import Library
from dashboard.web.prefix import root
from dashboard.web.query import note_other_spelling
from store import Corpus
from store.schema.model import SOURCES

#: Version of what the data routes answer: bytes, JSON, columns of files. Raise it when one of them changes: browsers keep
#: an answer for a year under its URL.
FORMAT = 1
#: Where every route begins.
BASE = f"/data/{FORMAT}/<snapshot>/<model>"
#: Where a page learns whether its session goes on.
SESSION = "/data/session"
ONE_HEAD = "<int:layer>/<int:head>"
#: The browser never asks for such a response again.
FOREVER = "private, max-age=31536000, immutable"


def data_link(corpus: Corpus) -> str:
    """Where the URLs of a corpus begin."""
    return f"{root()}/data/{FORMAT}/{corpus.snapshot}/{corpus.name}"


def corpus_of(library: Library, snapshot: str, model: str) -> Corpus:
    """The corpus that a URL names."""
    return library.snapshot(snapshot).corpus(model)


def check_head(corpus: Corpus, layer: int, head: int) -> None:
    """Answer 404 where the model has no such head."""
    if layer >= corpus.layers or head >= corpus.heads:
        abort(
            404,
            f"There is no head L{layer} H{head}; there are L0 to L{corpus.layers - 1} and H0 to H{corpus.heads - 1}.",
        )


def check_token(corpus: Corpus, token: int) -> None:
    """Answer 404 where the corpus has no such token."""
    if token >= corpus.n_tokens:
        abort(404, f"There is no token {token}; there are 0 to {corpus.n_tokens - 1}.")


def bounded(name: str, default: int, most: int, *, fewest: int = 1) -> int:
    """A whole number of the query string, `fewest` to `most`."""
    text = request.args.get(name, "")
    is_number = text.isascii() and text.isdigit() and len(text) < 12
    number = max(fewest, min(int(text), most)) if is_number else default
    if text and text != str(number):
        note_other_spelling()
    return number


def share(name: str, default: float) -> float:
    """A number of the query string, 0 to 1."""
    text = request.args.get(name, "")
    try:
        number = float(text[:40])
    except ValueError:
        number = default
    number = max(0.0, min(number, 1.0)) if isfinite(number) else default
    if text and text not in (f"{number:g}", str(number)):
        note_other_spelling()
    return number


def source_of_means() -> str:
    """The queries that means are over, from the query string; 404 where there are no such."""
    source = request.args.get("source", SOURCES[0])
    if source not in SOURCES:
        abort(404, f"There are no means over the queries “{source[:40]}”. Choose one of {', '.join(SOURCES)}.")
    return source


def scheme() -> Literal["light", "dark"]:
    """The colour scheme of the query string: light by default."""
    text = request.args.get("scheme", "light")
    if text not in ("light", "dark"):
        note_other_spelling()
    return "dark" if text == "dark" else "light"


def lasting(response: Response) -> Response:
    """The response, cached by browsers for a year."""
    response.headers["Cache-Control"] = FOREVER
    return response


def binary(content: bytes) -> Response:
    """A response of bytes, not compressed: quantised coordinates hardly compress."""
    return lasting(Response(content, mimetype="application/octet-stream"))


def codes(content: bytes) -> Response:
    """A response of bytes that compress well, which Flask-Compress leaves alone."""
    response = binary(content)
    response.headers["Vary"] = "Accept-Encoding"
    if request.accept_encodings.quality("gzip") and len(content) > 1_000:
        response.data = gzip.compress(content, 1)
        response.headers["Content-Encoding"] = "gzip"
    return response


def png(content: bytes) -> Response:
    """A response that is a picture."""
    return lasting(Response(content, mimetype="image/png"))


def register(server: Flask, _library: Library) -> None:
    """Answer whether a page has a session, and every data URL that no other route has, such as those of an older server."""
    server.add_url_rule("/data/<path:_address>", view_func=_outdated)
    server.add_url_rule(SESSION, view_func=_has_session)


def _has_session() -> Response:
    """Nothing, to whom the server knows: a page asks before a file is saved, which could be a page to sign in."""
    return Response(status=204, headers={"Cache-Control": "no-store"})


def _outdated(_address: str) -> NoReturn:
    abort(404, "This URL is unknown or out of date. Reload the page.")
