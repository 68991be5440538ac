"""Requests and responses: the URLs of data routes, fields of a query string within their bounds, typed values of callbacks, cached answers.

A query string notes the fields that a route reads: a response depends on them alone. A URL of data names its snapshot, so that a
response is cached for all readers and processes of a server. Cached responses are in files that all processes share: bounded, the
least recently used are deleted first. Only slow responses are cached: responses that browsers cache for a year too, and pages that
`share` was called for. Errors are not cached, nor responses to a link that spells a page's link in another way: nobody can fill
the cache with one response. Cookies and all other headers of a person stay out: the request passes the gate of the server before
its response is looked up here.
"""

import gzip
import json
import time
from collections.abc import Callable, Iterator
from functools import wraps
from inspect import signature
from io import BytesIO
from math import isfinite
from typing import IO, Annotated, Any, Literal, NoReturn, TypeVar, get_type_hints

from dash import State
from flask import Flask, Request, Response, abort, g, has_request_context, request
from pydantic import AfterValidator, BaseModel, TypeAdapter, ValidationError
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.exceptions import BadRequest
from werkzeug.utils import cached_property
from werkzeug.wsgi import wrap_file

from dashboard.web.paths import root
from dashboard.web.results import DiskCache
from dashboard.web.served_store import FILE_MEMORY, ServedStore
from dashboard.web.state import FIELDS, WITHIN, Of
from store import Corpus, StoreError
from store.phrases import whole_number
from store.repository import errors
from store.schema.model import SOURCES

#: Version of the answers of data routes: bytes, JSON, columns of files. Raise it when an answer's format changes: browsers keep
#: an answer for a year under its URL.
FORMAT = 1
#: Beginning of every data route.
BASE = f"/data/{FORMAT}/<snapshot>/<model>"
#: URL by which a page checks that its session still exists.
SESSION = "/data/session"
ONE_HEAD = "<int:layer>/<int:head>"
#: Cache-Control of a response that the browser never fetches again.
FOREVER = "private, max-age=31536000, immutable"
Callback = TypeVar("Callback", bound=Callable[..., Any])
#: State that a callback gets from a tab: path and query of its link, and the shown page.
STANDING = State("location", "pathname"), State("location", "search"), State("shown", "data")
#: Most bytes of all cached responses of a server.
CACHED_BYTES = 256 << 20
#: Least seconds of a cached response: a faster one is not worth a file.
LEAST_SECONDS = 0.01
#: Headers that are cached with the content.
CONTENT_HEADERS = ("Content-Type", "Content-Encoding", "Content-Disposition", "Cache-Control", "Vary")


def data_link(corpus: Corpus) -> str:
    """Beginning of the URLs of a corpus."""
    return f"{root()}/data/{FORMAT}/{corpus.snapshot}/{corpus.name}"


def corpus_of(served_store: ServedStore, snapshot: str, model: str) -> Corpus:
    """The corpus that a URL names."""
    return served_store.snapshot(snapshot).corpus(model)


def check_head(corpus: Corpus, layer: int, head: int) -> None:
    """Answer 404 where the model has no such head."""
    check_head_of(layer, head, corpus.layers, corpus.heads)


def check_head_of(layer: int, head: int, layers: int, heads: int) -> None:
    """Answer 404 where a model of `layers` layers with `heads` heads each has no such head."""
    try:
        errors.check_head(layer, head, layers=layers, heads=heads)
    except StoreError as error:
        abort(404, str(error))


def check_token(corpus: Corpus, token: int) -> None:
    """Answer 404 where the corpus has no such token."""
    if token >= corpus.n_tokens:
        abort(404, f"There is no token {token}; there are 0 to {corpus.n_tokens - 1}.")


def bounded(name: str, default: int, most: int, *, fewest: int = 1) -> int:
    """A whole number of the query string, `fewest` to `most`."""
    text = request.args.get(name, "")
    written = whole_number(text)
    number = default if written is None else max(fewest, min(written, most))
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
    """The queries that means are over, from the query string; 404 for unknown queries."""
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


def register(server: Flask, _served_store: ServedStore) -> None:
    """Add the route of the session, and a route for data URLs without another route, such as URLs of an older server."""
    server.add_url_rule("/data/<path:_address>", view_func=_outdated)
    server.add_url_rule(SESSION, view_func=_has_session)


def _has_session() -> Response:
    """An empty answer to a signed-in person: a page checks before it saves a file, which else could be the sign-in page."""
    return Response(status=204, headers={"Cache-Control": "no-store"})


def _outdated(_address: str) -> NoReturn:
    abort(404, "This URL is unknown or out of date. Reload the page.")


def _whole(text: str) -> str:
    """The text. Raises ValueError for half a surrogate pair, which JSON can hold and UTF-8 cannot."""
    text.encode()
    return text


#: A text of a link.
Text = Annotated[str, AfterValidator(_whole)]


class PartWait(BaseModel):
    """The id of an element that a page waits for: part of the page, kind of element, and name of the wait."""

    deferred: Text
    wait: Text


class Painted(BaseModel):
    """Message of the canvas once its picture is painted: the name of the part below the picture, or ""."""

    after: Text


class Shown(BaseModel):
    """Fields of the shown page that callbacks read (`shell.shown`)."""

    snapshot: Text


def snapshot_of(shown: Shown | None) -> str | None:
    """The snapshot that a tab shows; None before its first page."""
    return shown.snapshot if shown else None


def validated(callback: Callback) -> Callback:
    """The callback, which answers 400 to values that are not of its parameters' types."""
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

    `spelled_otherwise`: whether a field was read as another value than it has, such as a number beyond the bounds.
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
        """Whether every field was read, occurs once, and is spelled as in links."""
        each = list(super().items(multi=True))
        return (
            not self.spelled_otherwise
            and self.names >= {name for name, _ in each}
            and len({name for name, _ in each}) == len(each)
            and all(_is_spelled(name, text) for name, text in each)
        )


class NotedRequest(Request):
    """A request whose query string notes the fields that are read."""

    @cached_property
    def args(self) -> ReadFields:
        """The fields of the query string."""
        return ReadFields(super().args)


def note_other_spelling() -> None:
    """Note that a field of this request was read as another value than it has."""
    fields = request.args
    if isinstance(fields, ReadFields):
        fields.spelled_otherwise = True


def _is_spelled(name: str, text: str) -> bool:
    """Whether a field of a link has a permitted value, without blanks around it."""
    bounds = FIELDS[name].bounds if name in FIELDS else None
    if bounds is Of.MATCHES:
        bounds = WITHIN
    return text in bounds if isinstance(bounds, tuple) else text == text.strip()


class FileResponse(Response):
    """A response whose content is an open file, read from its current position."""

    def __init__(self, content: IO[bytes], size: int) -> None:
        self.file = content
        super().__init__(wrap_file(request.environ, content), direct_passthrough=True)
        self.content_length = size


class ResponseCache:
    """The cached responses of a server, in its folder."""

    def __init__(self, files: DiskCache, *, least_seconds: float = LEAST_SECONDS) -> None:
        """A response that took less than `least_seconds` is not worth a file."""
        self._files, self.least_seconds = files, least_seconds

    @classmethod
    def of(cls, served_store: ServedStore) -> "ResponseCache":
        """The cached responses of a served store."""
        return cls(DiskCache(served_store.folder / "responses", CACHED_BYTES))

    def find(self, key: str) -> Response | None:
        """A new response with the cached content; None without an entry."""
        entry = self._files.find(key)
        if entry is None:
            return None
        described, file = entry
        begin = file.tell()
        size = file.seek(0, 2) - begin
        file.seek(begin)
        response = FileResponse(file, size) if size > FILE_MEMORY else _read(file)
        for name in CONTENT_HEADERS:
            response.headers.pop(name, None)
        response.headers.extend(json.loads(described))
        return response

    def add(self, key: str, response: Response) -> None:
        """Cache a response."""
        described = {name: response.headers[name] for name in CONTENT_HEADERS if name in response.headers}
        self._files.add(key, json.dumps(described).encode(), _content(response))


def _read(file: IO[bytes]) -> Response:
    with file:
        return Response(file.read())


def _content(response: Response) -> IO[bytes]:
    return response.file if isinstance(response, FileResponse) else BytesIO(response.get_data())


def share() -> None:
    """Note that the response to this request is the same for all readers with the same key."""
    g.shares = True


def for_one_reader() -> None:
    """Note that the response to this request is for its reader alone, which overrides `share`."""
    if has_request_context():
        g.alone = True


def _is_shared() -> bool:
    return bool(g.get("shares") and not g.get("alone"))


def cache_responses(server: Flask, served_store: ServedStore, page_key: Callable[[], str | None]) -> None:
    """Answer from the cache, and cache slow responses. Call it after the gate has been registered.

    `page_key` returns the cache key of a page; None for other requests, and for a page that is not to be cached.
    """
    server.request_class = NotedRequest

    @server.before_request
    def answer() -> Response | None:
        g.key, g.began = _key(page_key), time.perf_counter()
        if g.key is None:
            return None
        if snapshot := (request.view_args or {}).get("snapshot"):
            served_store.snapshot(snapshot)  # raises an error where the snapshot has been deleted since
        cached = served_store.service(ResponseCache).find(g.key)
        g.key = None if cached else g.key
        return cached

    def cache(response: Response) -> Response:
        key, took = g.get("key"), time.perf_counter() - g.get("began", 0.0)
        if key and (_lasts(response) or _is_shared()):
            cached = served_store.service(ResponseCache)
            if took > cached.least_seconds and _in_one_spelling():
                cached.add(key, response)
        return response

    # The first function in this list is called last: cached responses have been compressed.
    server.after_request_funcs.setdefault(None, []).insert(0, cache)


def _key(page_key: Callable[[], str | None]) -> str | None:
    """The cache key of a response; None where it is neither of a data URL nor a page.

    For a data URL the key consists of the route, its parts as they were read, and the fields of the query string in sorted
    order.
    """
    parts = request.view_args or {}
    if request.method == "GET" and "snapshot" in parts:
        fields = sorted(ReadFields(request.args).items(multi=True))
        return json.dumps([request.endpoint, parts, fields, [*_encodings()]], default=str)
    key = page_key()
    return key and "\n".join((key, *_encodings()))


def _in_one_spelling() -> bool:
    """Whether no other query string has this response: a request with an added, unread field makes no entry."""
    return isinstance(request.args, ReadFields) and request.args.in_one_spelling


def _encodings() -> Iterator[str]:
    """Compressions that the reader's browser accepts."""
    accepted = request.accept_encodings
    yield from (name for name in ("zstd", "br", "gzip", "deflate") if accepted.quality(name))


def _lasts(response: Response) -> bool:
    return response.status_code == 200 and response.headers.get("Cache-Control") == FOREVER
