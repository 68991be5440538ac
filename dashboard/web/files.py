"""A table as a file to be saved."""

import gzip
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import IO

from flask import Response, current_app
from flask import request as asked
from werkzeug.wsgi import wrap_file

from dashboard.points.exports import Table, as_csv, named, write_parquet
from dashboard.web.admission import asker_gone
from dashboard.web.errors import ReaderLeft
from dashboard.web.http import lasting
from dashboard.web.library import Library
from dashboard.web.provenance import Provenance

#: The part of a URL that says which kind of file.
FORM = "<any(csv, parquet):form>"
MIMETYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
#: Bytes of a file that is still held in memory.
IN_MEMORY = 1 << 20
#: Where an application has its library.
LIBRARY = "headscape.library"


def large_file(parts: Iterator[Table], name: str, form: str) -> Response:
    """As `file`, of many rows: a process makes one at a time. A `Refusal` where too many readers wait for theirs."""
    with _library().files.turn(asker_gone):
        return file(_for_reader(parts), name, form)


def file(parts: Iterator[Table], name: str, form: str, other: str | None = None) -> Response:
    """The parts of a table, one under the other; `name` is the beginning of the file's, `other` a model that no part of
    the URL names.

    The end of the name says what the table is of, as does the file itself: Parquet in its metadata, CSV in a last column.

    It is written as a whole before the first byte is sent: a reader who reads slowly takes up no thread, and a large
    one lies on the disk meanwhile.
    """
    content: IO[bytes] = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  # closed when it has been sent
    compressed = form == "csv" and bool(asked.accept_encodings.quality("gzip"))
    provenance = _provenance(other)
    try:
        _write(parts, provenance, form, content, compressed)
    except BaseException:
        content.close()
        raise
    response = _sent(content)
    response.mimetype = MIMETYPES[form]
    response.headers["Content-Disposition"] = f'attachment; filename="{name}-{provenance.stem}.{form}"'
    if compressed:
        response.headers["Content-Encoding"], response.headers["Vary"] = "gzip", "Accept-Encoding"
    return lasting(response)


def _sent(content: IO[bytes]) -> Response:
    size = content.tell()
    content.seek(0)
    if size > IN_MEMORY:
        response = Response(wrap_file(asked.environ, content), direct_passthrough=True)
        response.content_length = size
        return response
    with content:
        return Response(content.read())


def _library() -> Library:
    library: Library = current_app.extensions[LIBRARY]
    return library


def _provenance(other: str | None) -> Provenance:
    """Every URL of a file names a snapshot and a model, or two."""
    given = dict(asked.view_args or {})
    models = [given[part] for part in ("model", "other") if part in given] + ([other] if other else [])
    return Provenance.of(_library().snapshot(given["snapshot"]), models)


def _write(parts: Iterator[Table], provenance: Provenance, form: str, into: IO[bytes], compressed: bool) -> None:
    lines = (some.encode() for some in as_csv(named(parts, provenance)))
    if form == "parquet":
        write_parquet(parts, into, provenance.metadata)
    elif compressed:
        with gzip.GzipFile(fileobj=into, mode="wb", compresslevel=1) as inner:
            inner.writelines(lines)
    else:
        into.writelines(lines)


def _for_reader(parts: Iterator[Table]) -> Iterator[Table]:
    """As long as the reader is there."""
    for part in parts:
        if asker_gone():
            raise ReaderLeft
        yield part
