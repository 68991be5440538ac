"""Requests and responses: the URLs of data routes, fields of a query string within their bounds, typed values of callbacks, cached answers.

A query string notes what a route reads of it: a response is made from that alone. A URL of data names its snapshot, so that a
response is cached for all readers and processes of a server. Cached responses are in files that all processes share: bounded, the
least recently used are deleted first. Only what took time is cached: responses that browsers cache for a year too, and pages that
`share` was called for. Errors are not, nor is a response to a link that says in another way what a page's own link says: nobody can
fill the cache with one response. Cookies and all other headers of a person stay out: the request passes the gate of the server
before its response is looked up here.
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
Callback = TypeVar("Callback", bound=Callable[..., Any])
#: What a callback gets of a tab: path and query of its link, and what its page shows.
STANDING = State("location", "pathname"), State("location", "search"), State("shown", "data")
#: Bytes of all cached responses of a server.
CACHED_BYTES = 256 << 20
#: Seconds that a response must have taken: a faster one is not worth a file.
LEAST_SECONDS = 0.01
#: Headers that belong to the content.
CONTENT_HEADERS = ("Content-Type", "Content-Encoding", "Content-Disposition", "Cache-Control", "Vary")


def data_link(corpus: Corpus) -> str:
    """Where the URLs of a corpus begin."""
    return f"{root()}/data/{FORMAT}/{corpus.snapshot}/{corpus.name}"


def corpus_of(served_store: ServedStore, snapshot: str, model: str) -> Corpus:
    """The corpus that a URL names."""
    return served_store.snapshot(snapshot).corpus(model)


def check_head(corpus: Corpus, layer: int, head: int) -> None:
    """Answer 404 where the model has no such head."""
    check_head_of(layer, head, corpus.layers, corpus.heads)


def check_head_of(layer: int, head: int, layers: int, heads: int) -> None:
    """Answer 404 where a model of so many layers, of so many heads each, has no such head."""
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


def register(server: Flask, _served_store: ServedStore) -> None:
    """Answer whether a page has a session, and every data URL that no other route has, such as those of an older server."""
    server.add_url_rule("/data/<path:_address>", view_func=_outdated)
    server.add_url_rule(SESSION, view_func=_has_session)


def _has_session() -> Response:
    """Nothing, to whom the server knows: a page asks before a file is saved, which could be a page to sign in."""
    return Response(status=204, headers={"Cache-Control": "no-store"})


def _outdated(_address: str) -> NoReturn:
    abort(404, "This URL is unknown or out of date. Reload the page.")


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


class FileResponse(Response):
    """A response whose content is a file, read from where it stands."""

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
        """Those of a served store."""
        return cls(DiskCache(served_store.folder / "responses", CACHED_BYTES))

    def find(self, key: str) -> Response | None:
        """A new response with the cached content; None where there is none."""
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
    """Say that the response to this request is the same for whoever has the same key."""
    g.shares = True


def for_one_reader() -> None:
    """Say that the response to this request is for its reader alone, whatever else says."""
    if has_request_context():
        g.alone = True


def _is_shared() -> bool:
    return bool(g.get("shares") and not g.get("alone"))


def cache_responses(server: Flask, served_store: ServedStore, page_key: Callable[[], str | None]) -> None:
    """Answer from the cache, and cache what took time. Call it after the gate has been registered.

    `page_key` says what a page depends on; None for a request of another kind, and a page that is not to be cached.
    """
    server.request_class = NotedRequest

    @server.before_request
    def answer() -> Response | None:
        g.key, g.began = _key(page_key), time.perf_counter()
        if g.key is None:
            return None
        if snapshot := (request.view_args or {}).get("snapshot"):
            served_store.snapshot(snapshot)  # says it where it has been deleted since
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

    # First in this list is called last: what is cached has been compressed.
    server.after_request_funcs.setdefault(None, []).insert(0, cache)


def _key(page_key: Callable[[], str | None]) -> str | None:
    """What the response depends on; None where it is neither one of a data URL nor a page.

    Of a data URL that is the route with its parts as they were read, and the fields of the query string: their order does
    not count.
    """
    parts = request.view_args or {}
    if request.method == "GET" and "snapshot" in parts:
        fields = sorted(ReadFields(request.args).items(multi=True))
        return json.dumps([request.endpoint, parts, fields, [*_encodings()]], default=str)
    key = page_key()
    return key and "\n".join((key, *_encodings()))


def _in_one_spelling() -> bool:
    """Whether no other query string has this response: whoever adds a field that nobody reads adds no entry."""
    return isinstance(request.args, ReadFields) and request.args.in_one_spelling


def _encodings() -> Iterator[str]:
    """Compressions that the reader takes."""
    accepted = request.accept_encodings
    yield from (name for name in ("zstd", "br", "gzip", "deflate") if accepted.quality(name))


def _lasts(response: Response) -> bool:
    return response.status_code == 200 and response.headers.get("Cache-Control") == FOREVER
