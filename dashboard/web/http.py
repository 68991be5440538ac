"""What a request asks for: the URLs of data routes, fields of a query string within their bounds, typed values of callbacks.

A query string notes what a route reads of it: a response is made from that alone.
"""

import gzip
from collections.abc import Callable, Iterator
from functools import wraps
from inspect import signature
from math import isfinite
from typing import Annotated, Any, Literal, NoReturn, TypeVar, get_type_hints

from dash import State
from flask import Flask, Request, Response, abort, request
from pydantic import AfterValidator, BaseModel, TypeAdapter, ValidationError
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.exceptions import BadRequest
from werkzeug.utils import cached_property

from dashboard.web.library import Library
from dashboard.web.paths import root
from dashboard.web.state import FIELDS, WITHIN, Of
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


def share_of_query(name: str, default: float) -> float:
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


Callback = TypeVar("Callback", bound=Callable[..., Any])


def _whole(text: str) -> str:
    """Raises ValueError for half a surrogate pair, which JSON can hold and UTF-8 cannot."""
    text.encode()
    return text


#: A text of a link.
Text = Annotated[str, AfterValidator(_whole)]


class PartWait(BaseModel):
    """The id of an element that a page waits for: the part of the page, and the wait for it."""

    deferred: Text
    wait: Text


class Painted(BaseModel):
    """What the canvas sends once its picture is painted: the name of what follows below it, or ""."""

    after: Text


class Shown(BaseModel):
    """What callbacks read of the page that a tab shows (`shell.shown`)."""

    snapshot: Text


#: What a callback gets of a tab: path and query of its link, and what its page shows.
STANDING = State("location", "pathname"), State("location", "search"), State("shown", "data")


def snapshot_of(shown: Shown | None) -> str | None:
    """The snapshot that a tab shows; None before its first page."""
    return shown.snapshot if shown else None


def validated(callback: Callback) -> Callback:
    """The same callback; values of other types than its parameters' are answered with 400."""
    hints = get_type_hints(callback, include_extras=True)
    parameters = {name: TypeAdapter(hints[name]) for name in signature(callback).parameters}

    @wraps(callback)
    def checked(*values: object) -> Any:
        return callback(*map(_checked, parameters, parameters.values(), values))

    return checked  # type: ignore[return-value]


def _checked(name: str, accepted: TypeAdapter[Any], value: object) -> Any:
    try:
        return accepted.validate_python(value, strict=True)
    except ValidationError as error:
        raise BadRequest(f"The request has an invalid value of {name.strip('_')}. Reload the page.") from error


class ReadFields(ImmutableMultiDict[str, str]):
    """The fields of a query string, and which of them were read.

    `spelled_otherwise`: whether one of them has a value that was read as another one, such as a number beyond the bounds.
    """

    def __init__(self, fields: Any = ()) -> None:
        super().__init__(fields)
        self.names: set[str] = set()
        self.spelled_otherwise = False

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return str(super().__getitem__(name))

    def __contains__(self, name: object) -> bool:
        self.names.add(str(name))
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        self.names.update(super().__iter__())
        return super().__iter__()

    @property
    def in_one_spelling(self) -> bool:
        """Whether every field was read, is there once, and is spelled as links spell it."""
        each = list(super().items(multi=True))
        return (
            not self.spelled_otherwise
            and self.names >= {name for name, _ in each}
            and len({name for name, _ in each}) == len(each)
            and all(_is_spelled(name, text) for name, text in each)
        )


class NotedRequest(Request):
    """A request of a server, whose query string notes what is read of it."""

    @cached_property
    def args(self) -> ReadFields:
        """The fields of the query string."""
        return ReadFields(super().args)


def note_other_spelling() -> None:
    """Say that a field of this request was read as another value than it has."""
    fields = request.args
    if isinstance(fields, ReadFields):
        fields.spelled_otherwise = True


def _is_spelled(name: str, text: str) -> bool:
    """Whether a field of a link has a value that it may have, without blanks around it."""
    bounds = FIELDS[name].bounds if name in FIELDS else None
    if bounds is Of.MATCHES:
        bounds = WITHIN
    return text in bounds if isinstance(bounds, tuple) else text == text.strip()
