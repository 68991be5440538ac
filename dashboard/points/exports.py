"""Points as files: one row for each drawn query and key. x, y and z are the positions in the picture, 0 to 1."""

import csv
import io
from collections.abc import Iterator, Mapping
from itertools import chain, product
from types import MappingProxyType
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dashboard.points.columns import column_of, columns, values
from dashboard.points.drawn import Drawn
from dashboard.web.provenance import Provenance

#: Rows made at once.
ROWS = 20_000
TEXTS = (
    *("wordpiece", "label", "kind", "role", "query_piece", "key_piece", "query", "key", "point", "other_point"),
    *("statistic", "source", "ratio", "name", "other_name", "other_label", "most_changed", "most_changed_unit"),
    "provenance",
)
#: What makes a spreadsheet take a cell for a formula (OWASP, CSV injection).
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")

Table = Mapping[str, NDArray[np.generic]]
NOTHING: Mapping[str, str] = MappingProxyType({})


def tables(drawn: Drawn, view: str, selected: NDArray[np.bool_]) -> Iterator[Table]:
    """The selected points (token, role) of one head as columns, `ROWS` at a time; an empty table where there is none."""
    yield from _parts(_of_panel(_known(drawn, view), 0), selected)


def tables_of_heads(drawn: Drawn, view: str) -> Iterator[Table]:
    """All drawn points of every head, one head after the other, with its layer and head in front.

    All heads are read at once: reading head by head took four times as long.
    """
    known, every = _known(drawn, view), np.ones((len(drawn.rows), 2), bool)
    for panel, (layer, head) in enumerate(product(range(drawn.corpus.layers), range(drawn.corpus.heads))):
        for part in _parts(_of_panel(known, panel), every):
            rows = len(part["token"])
            yield {"layer": np.full(rows, layer), "head": np.full(rows, head), **part}


def named(parts: Iterator[Table], provenance: Provenance) -> Iterator[Table]:
    """The tables with a last column that names the provenance of every row.

    Spreadsheets and most CSV readers would take a comment line for the header. A column stays with its rows when files are
    sorted, cut or joined, and compresses to almost nothing.
    """
    for part in parts:
        rows = len(next(iter(part.values()), ()))
        yield {**part, "provenance": np.full(rows, str(provenance), object)}


def as_csv(parts: Iterator[Table]) -> Iterator[str]:
    """The lines of a CSV file; text that a spreadsheet would take for a formula is quoted with an apostrophe."""
    for number, part in enumerate(parts):
        buffer = io.StringIO()
        writer = csv.writer(buffer)
        if number == 0:
            writer.writerow(part)
        columns = [_safe(column) if _is_text(name, column) else column.tolist() for name, column in part.items()]
        writer.writerows(zip(*columns, strict=True))
        yield buffer.getvalue()


def write_parquet(parts: Iterator[Table], into: IO[bytes], metadata: Mapping[str, str] = NOTHING) -> None:
    """Write a Parquet file, one part in memory at a time; its text is not quoted."""
    import pyarrow
    from pyarrow import parquet

    tables_of_parts = (pyarrow.table(_typed(part)) for part in parts)
    first = next(tables_of_parts)
    with parquet.ParquetWriter(into, first.schema.with_metadata(dict(metadata))) as writer:
        for table in chain([first], tables_of_parts):
            writer.write_table(table)


def _known(drawn: Drawn, view: str) -> Table:
    """Every column of the file for all drawn points: (panel, token, role), of length 1 where an axis makes no difference."""
    places = np.moveaxis(drawn.places(view), -1, 0)
    categories = {name: _names(drawn, name) for name in ("label", "kind", "role")}
    return {
        "token": np.arange(len(drawn.rows))[None, :, None],
        "wordpiece": drawn.corpus.vocab[drawn.of_tokens("token_id")][None, :, None],
        "position": drawn.of_tokens("position")[None, :, None],
        "sentence": drawn.of_tokens("sentence_index")[None, :, None],
        **categories,
        **{axis: np.round(place.astype(np.float64), 6) for axis, place in zip("xyz", places, strict=False)},
        "norm": np.round(values(column_of(drawn.corpus, "norm"), drawn), 5),
    }


def _of_panel(known: Table, panel: int) -> Table:
    """The columns of one head: (token, role), of length 1 where an axis makes no difference."""
    return {name: column[panel if len(column) > 1 else 0] for name, column in known.items()}


def _parts(known: Table, selected: NDArray[np.bool_]) -> Iterator[Table]:
    """The selected points (token, role), `ROWS` at a time; one empty table where there is none."""
    points = np.flatnonzero(selected)
    whole = {name: np.broadcast_to(column, selected.shape) for name, column in known.items()}
    for start in range(0, max(1, len(points)), ROWS):
        token, role = np.divmod(points[start : start + ROWS], 2)
        yield {name: column[token, role] for name, column in whole.items()}


def _names(drawn: Drawn, column: str) -> NDArray[np.object_]:
    """Category names of the drawn points, empty where there is none."""
    known = columns(drawn.corpus).get(column)
    if known is None:
        return np.array([[[""]]], object)
    return np.array([*known.names, ""], object)[values(known, drawn)]


def _safe(column: NDArray[np.generic]) -> list[str]:
    return [f"'{text}" if text.startswith(FORMULA) else text for text in map(str, column)]


def _typed(part: Table) -> dict[str, object]:
    import pyarrow

    return {
        name: pyarrow.array(column.astype(object), pyarrow.string())
        if _is_text(name, column)
        else pyarrow.array(column)
        for name, column in part.items()
    }


def _is_text(name: str, column: NDArray[np.generic]) -> bool:
    """Whether a column is text; by its name where it has no rows."""
    return column.dtype.kind in "OUT" if len(column) else name in TEXTS
