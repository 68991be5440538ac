"""Responses of data URLs and pages, cached for all readers and processes of a server: a URL of data names its snapshot.

They are in files that all processes share: bounded, the least recently used are deleted first. Only what took time is cached:
responses that browsers cache for a year too, and pages that `share` was called for. Errors are not, nor is a response to a
link that says in another way what a page's own link says: nobody can fill the cache with one response.
Cookies and all other headers of a person stay out: the request passes the gate of the server before its response is
looked up here.
"""

import json
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import IO

from flask import Flask, Response, g, has_request_context, request
from werkzeug.wsgi import wrap_file

from dashboard.web.http import FOREVER, NotedRequest, ReadFields
from dashboard.web.library import Library
from dashboard.web.results import DiskCache

#: Bytes of all cached responses of a server.
BUDGET = 256 << 20
#: Seconds that a response must have taken: a faster one is not worth a file.
WORTH = 0.01
#: Bytes up to which a cached response is held in memory while it is sent.
IN_MEMORY = 1 << 20
#: Headers that belong to the content.
HEADERS = ("Content-Type", "Content-Encoding", "Content-Disposition", "Cache-Control", "Vary")


class FileResponse(Response):
    """A response whose content is a file, read from where it stands."""

    def __init__(self, content: IO[bytes], size: int) -> None:
        self.file = content
        super().__init__(wrap_file(request.environ, content), direct_passthrough=True)
        self.content_length = size


class ResponseCache:
    """The cached responses of a server, in its folder."""

    def __init__(self, files: DiskCache, *, worth: float = WORTH) -> None:
        """`worth`: seconds that a response must have taken."""
        self._files, self.worth = files, worth

    @classmethod
    def of(cls, library: Library) -> "ResponseCache":
        """Those of a library."""
        return cls(DiskCache(library.folder / "responses", BUDGET))

    def find(self, key: str) -> Response | None:
        """A new response with the cached content; None where there is none."""
        entry = self._files.find(key)
        if entry is None:
            return None
        described, file = entry
        begin = file.tell()
        size = file.seek(0, 2) - begin
        file.seek(begin)
        response = FileResponse(file, size) if size > IN_MEMORY else _read(file)
        for name in HEADERS:
            response.headers.pop(name, None)
        response.headers.extend(json.loads(described))
        return response

    def add(self, key: str, response: Response) -> None:
        """Cache a response."""
        described = {name: response.headers[name] for name in HEADERS if name in response.headers}
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


def register(server: Flask, library: Library, page_key: Callable[[], str | None]) -> None:
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
            library.snapshot(snapshot)  # says it where it has been deleted since
        cached = library.get(ResponseCache).find(g.key)
        g.key = None if cached else g.key
        return cached

    def cache(response: Response) -> Response:
        key, began = g.get("key"), g.get("began", 0.0)
        took, cached = time.perf_counter() - began, library.get(ResponseCache)
        if key and (_lasts(response) or _is_shared()) and took > cached.worth and _in_one_spelling():
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
