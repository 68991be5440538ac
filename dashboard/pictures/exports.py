"""Points as files: one row for each drawn query and key. x, y and z are those of the picture, 0 to 1."""

import csv
import io
from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dashboard.pictures.columns import column_of, columns, values
from dashboard.pictures.drawn import Drawn

#: Rows made at once.
ROWS = 20_000
TEXTS = (
    *("wordpiece", "label", "kind", "role", "query_piece", "key_piece", "query", "key", "point", "other_point"),
    *("statistic", "source", "ratio", "name", "other_name", "other_label", "most_changed", "most_changed_unit"),
)
#: What makes a spreadsheet take a cell for a formula (OWASP, CSV injection).
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")

Table = Mapping[str, NDArray[np.generic]]


def tables(drawn: Drawn, view: str, selected: NDArray[np.bool_]) -> Iterator[Table]:
    """The selected points (token, role) of one head as columns, `ROWS` at a time; an empty table where there is none."""
    points = np.flatnonzero(selected)
    known = {name: np.broadcast_to(column, selected.shape) for name, column in _known(drawn, view).items()}
    parts = (np.divmod(points[start : start + ROWS], 2) for start in range(0, max(1, len(points)), ROWS))
    return ({name: column[token, role] for name, column in known.items()} for token, role in parts)


def tables_of_heads(drawn: Drawn, view: str) -> Iterator[Table]:
    """All drawn points of every head, one head after the other, with its layer and head in front."""
    for layer, head in product(range(drawn.corpus.layers), range(drawn.corpus.heads)):
        one = Drawn(drawn.corpus, drawn.tokens, layer, head)
        for part in tables(one, view, np.ones((len(one.rows), 2), bool)):
            rows = len(part["token"])
            yield {"layer": np.full(rows, layer), "head": np.full(rows, head), **part}


def as_csv(parts: Iterator[Table]) -> Iterator[str]:
    """The lines of a CSV file. Text that a spreadsheet would take for a formula gets an apostrophe in front."""
    for number, part in enumerate(parts):
        buffer = io.StringIO()
        writer = csv.writer(buffer)
        if number == 0:
            writer.writerow(part)
        columns = [_safe(column) if name in TEXTS else column.tolist() for name, column in part.items()]
        writer.writerows(zip(*columns, strict=True))
        yield buffer.getvalue()


def as_parquet(parts: Iterator[Table]) -> bytes:
    """A Parquet file; text as it is."""
    import pyarrow
    from pyarrow import parquet

    buffer = io.BytesIO()
    first, *others = (pyarrow.table(_typed(part)) for part in parts)
    with parquet.ParquetWriter(buffer, first.schema) as writer:
        for table in (first, *others):
            writer.write_table(table)
    return buffer.getvalue()


def _known(drawn: Drawn, view: str) -> Table:
    """Every column of the file, for all drawn points: (token, role), or 1 for what makes no difference."""
    places = np.moveaxis(drawn.places(view)[0], -1, 0)
    categories = {name: _names(drawn, name) for name in ("label", "kind", "role")}
    return {
        "token": np.arange(len(drawn.rows))[:, None],
        "wordpiece": drawn.corpus.vocab[drawn.of_tokens("token_id")][:, None],
        "position": drawn.of_tokens("position")[:, None],
        "sentence": drawn.of_tokens("sentence_index")[:, None],
        **categories,
        **{axis: np.round(place.astype(np.float64), 6) for axis, place in zip("xyz", places, strict=False)},
        "norm": np.round(values(column_of(drawn.corpus, "norm"), drawn)[0], 5),
    }


def _names(drawn: Drawn, column: str) -> NDArray[np.object_]:
    """Names of a category, empty where there is none."""
    found = columns(drawn.corpus).get(column)
    if found is None:
        return np.array([[""]], object)
    return np.array([*found.names, ""], object)[values(found, drawn)[0]]


def _safe(column: NDArray[np.generic]) -> list[str]:
    return [f"'{text}" if text.startswith(FORMULA) else text for text in map(str, column)]


def _typed(part: Table) -> dict[str, object]:
    """Text as strings also where there are no rows to tell from."""
    import pyarrow

    return {
        name: pyarrow.array(map(str, column), pyarrow.string()) if name in TEXTS else pyarrow.array(column)
        for name, column in part.items()
    }
