"""Points as files: one row for each drawn query and key. x, y and z are the positions in the picture, 0 to 1."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dashboard.points.columns import column_of, columns, values
from dashboard.points.drawn import Drawn
from dashboard.ui.files import Table

#: Rows made at once.
ROWS = 20_000


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
