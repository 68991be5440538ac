"""Tables as files: CSV and Parquet, with the models, the corpus and the snapshot of their numbers."""

import gzip
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from tempfile import SpooledTemporaryFile
from types import MappingProxyType
from typing import IO, TYPE_CHECKING
from unicodedata import normalize
from urllib.parse import quote

import numpy as np
from flask import Response, current_app, request
from numpy.typing import NDArray

from dashboard.ui.text import all_of, first_of, has_part
from dashboard.web.admission import reader_left
from dashboard.web.bounds import names_of
from dashboard.web.errors import ReaderLeft, Refusal
from dashboard.web.http import FileResponse, lasting
from dashboard.web.paths import links_of
from dashboard.web.served_store import ServedStore
from dashboard.web.state import LinkState
from store import Corpus, Snapshot
from store.phrases import FORMULA, PROVENANCE, guarded
from store.repository.files import is_full
from store.repository.history import SHORT_ID

if TYPE_CHECKING:
    import pyarrow

#: The format of a file in its URL.
FORM = "<any(csv, parquet):form>"
MIMETYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
#: Key of the served store among the extensions of an application.
SERVED_STORE = "headscape.served_store"
FULL = (
    "The server's temporary folder has no room for so large a file. Choose fewer tokens or a single head, "
    "or ask who runs the server to free space there."
)
#: Columns by name; columns of text have a dtype of text or object even without rows.
Table = Mapping[str, NDArray[np.generic]]
NOTHING: Mapping[str, str] = MappingProxyType({})
_NOT_IN_NAME = re.compile(r"[^\w.+-]+")


@dataclass(frozen=True)
class Provenance:
    """Models, corpus and snapshot of numbers, by keys of the store: a key stays the same as long as the numbers do."""

    models: tuple[str, ...]
    corpus: str
    snapshot: str
    #: Sentences of the numbers in words, where some numbers cover only a part; else empty.
    sentences: str = ""

    @classmethod
    def of(cls, snapshot: Snapshot, models: Sequence[str]) -> "Provenance":
        """The provenance of one model of a snapshot, or of two."""
        opened = [snapshot.corpus(model) for model in models]
        corpora = dict.fromkeys(corpus.attributes["corpus"] for corpus in opened)
        sentences = dict.fromkeys(_sentences(corpus) for corpus in opened if has_part(corpus))
        return cls(tuple(models), " and ".join(corpora), snapshot.id, "; ".join(sentences))

    def __str__(self) -> str:
        sentences = f"; {self.sentences}" if self.sentences else ""
        return f"{' and '.join(self.models)} on {self.corpus}, snapshot {self.snapshot}{sentences}"

    @property
    def stem(self) -> str:
        """The end of a file's name. It names no corpus, as the key of a model is a hash of its corpus too."""
        names = self.models if len(self.models) <= 2 else [f"{len(self.models)}-models"]
        return "-".join([*names, self.snapshot])

    @property
    def metadata(self) -> Mapping[str, str]:
        """The metadata of a Parquet file."""
        known = {"model": " and ".join(self.models), "corpus": self.corpus, "snapshot": self.snapshot}
        return known | ({"sentences": self.sentences} if self.sentences else {})


def _sentences(corpus: Corpus) -> str:
    return (
        f"unfiltered statistics of heads and layers of {all_of(corpus, 'sentence')}, "
        f"all other numbers of {first_of(corpus, 'sentence')}"
    )


def provenance_of(snapshot: Snapshot, corpus: Corpus, state: LinkState) -> dict[str, str]:
    """The provenance of a page, for files saved by the browser: `source` for a reader, `stem` for the end of a file's name."""
    links = links_of(state.page)
    if links.every_model:
        every = Provenance.of(snapshot, list(snapshot.models))
        return {
            "source": f"{len(every.models)} models on {every.corpus}, snapshot {snapshot.id[:SHORT_ID]}",
            "stem": every.stem,
        }
    other = links.second_model(snapshot, corpus, state) if links.second_model else None
    provenance = Provenance.of(snapshot, [corpus.name, *([other.name] if other else [])])
    models = _both_models(corpus, other, subtracts=links.subtracts) if other else corpus.title
    return {
        "source": f"{models} on {provenance.corpus}, snapshot {snapshot.id[:SHORT_ID]}",
        "stem": provenance.stem,
    }


def _both_models(own: Corpus, other: Corpus, *, subtracts: bool) -> str:
    name, second = names_of(own, other)
    return f"{name} (differences: minus {second})" if subtracts else f"{name} and {second}"


def large_file(parts: Iterator[Table], name: str, form: str) -> Response:
    """A file with many rows, see `file`: the server writes one such file at a time. Raises `Refusal` where too many readers wait."""
    with _served_store().files.turn(reader_left):
        return file(_for_reader(parts), name, form)


def file(parts: Iterator[Table], name: str, form: str, others: Sequence[str] = ()) -> Response:
    """A file of a table, given in parts. Its name begins with `name` and ends with the models and the snapshot.

    The file itself names them too: Parquet in its metadata, CSV in a last column. `others` are models that the URL does
    not name.

    The whole file is written before the first byte is sent, so that slow readers occupy no thread; a large file is on the
    disk meanwhile.
    """
    content: IO[bytes] = SpooledTemporaryFile(_served_store().file_memory)  # noqa: SIM115  # closed when it has been sent
    compressed = form == "csv" and bool(request.accept_encodings.quality("gzip"))
    provenance = _provenance(others)
    try:
        _write(parts, provenance, form, content, compressed)
    except BaseException as error:
        content.close()
        if isinstance(error, OSError) and is_full(error):
            raise Refusal(FULL, 503) from error
        raise
    response = _sent(content)
    response.mimetype = MIMETYPES[form]
    response.headers["Content-Disposition"] = disposition(f"{name}-{provenance.stem}.{form}")
    if compressed:
        response.headers["Content-Encoding"], response.headers["Vary"] = "gzip", "Accept-Encoding"
    return lasting(response)


def disposition(name: str) -> str:
    """The header that names a saved file, after RFC 6266. A label in the name may have quotes, newlines and any script."""
    name = _NOT_IN_NAME.sub("-", name)
    plain = normalize("NFKD", name).encode("ascii", "ignore").decode()
    return f'attachment; filename="{plain}"' + ("" if plain == name else f"; filename*=UTF-8''{quote(name)}")


def _sent(content: IO[bytes]) -> Response:
    size = content.tell()
    content.seek(0)
    if size > _served_store().file_memory:
        return FileResponse(content, size)
    with content:
        return Response(content.read())


def _served_store() -> ServedStore:
    served_store: ServedStore = current_app.extensions[SERVED_STORE]
    return served_store


def _provenance(others: Sequence[str]) -> Provenance:
    """The provenance of the file at the URL of the request, which names a snapshot and one or two models."""
    parts = dict(request.view_args or {})
    models = [parts[part] for part in ("model", "other") if part in parts] + list(others)
    return Provenance.of(_served_store().snapshot(parts["snapshot"]), models)


def _write(parts: Iterator[Table], provenance: Provenance, form: str, into: IO[bytes], compressed: bool) -> None:
    if form == "parquet":
        write_parquet(parts, into, provenance.metadata)
        return
    lines = chain([BOM_UTF8], as_csv(named(parts, provenance)))
    if compressed:
        with gzip.GzipFile(fileobj=into, mode="wb", compresslevel=1) as inner:
            inner.writelines(lines)
    else:
        into.writelines(lines)


def _for_reader(parts: Iterator[Table]) -> Iterator[Table]:
    """The parts, until the reader leaves. Raises `ReaderLeft`."""
    for part in parts:
        if reader_left():
            raise ReaderLeft
        yield part


def named(parts: Iterator[Table], provenance: Provenance) -> Iterator[Table]:
    """The tables with a last column that names the provenance of every row.

    Spreadsheets and most CSV readers would take a comment line as the header. A column stays with its rows when files are
    sorted, cut or joined, and compresses to almost nothing.
    """
    for part in parts:
        rows = len(next(iter(part.values()), ()))
        yield {**part, PROVENANCE: np.full(rows, str(provenance), object)}


def as_csv(parts: Iterator[Table]) -> Iterator[bytes]:
    """A CSV file part by part, its titles in quotes; text that a spreadsheet would take for a formula has an apostrophe before it."""
    from pyarrow import csv

    for number, part in enumerate(parts):
        if number == 0:
            titles = (guarded(title).replace('"', '""') for title in part)
            yield ",".join(f'"{title}"' for title in titles).encode() + b"\n"
        lines = BytesIO()
        csv.write_csv(_table(part, safe=True), lines, csv.WriteOptions(include_header=False))
        yield lines.getvalue()


def write_parquet(parts: Iterator[Table], into: IO[bytes], metadata: Mapping[str, str] = NOTHING) -> None:
    """Write a Parquet file, one part in memory at a time; its text is not quoted."""
    from pyarrow import parquet

    tables_of_parts = map(_table, parts)
    first = next(tables_of_parts)
    with parquet.ParquetWriter(into, first.schema.with_metadata(dict(metadata))) as writer:
        for table in chain([first], tables_of_parts):
            writer.write_table(table)


def _table(part: Table, *, safe: bool = False) -> "pyarrow.Table":
    import pyarrow

    texts = _safe_texts if safe else _texts
    return pyarrow.table(
        {name: (texts if _is_text(column) else pyarrow.array)(column) for name, column in part.items()}
    )


def _texts(column: NDArray[np.generic]) -> "pyarrow.StringArray":
    import pyarrow

    return pyarrow.array(column.astype(object), pyarrow.string())


def _safe_texts(column: NDArray[np.generic]) -> "pyarrow.StringArray":
    """The texts, with an apostrophe before texts that begin like a formula; each distinct text is examined once."""
    from pyarrow import compute

    coded = _texts(column).dictionary_encode()
    return compute.take(compute.replace_substring_regex(coded.dictionary, FORMULA, r"'\0"), coded.indices)


def _is_text(column: NDArray[np.generic]) -> bool:
    return column.dtype.kind in "OUT"
