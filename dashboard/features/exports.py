"""The tokens of a material as files: where they are drawn in a panel or in all, and what is measured between points."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dashboard.features.cosines import cosines
from dashboard.features.data import Series
from dashboard.features.pieces import pieces_of
from dashboard.points.columns import KINDS, kinds_of
from dashboard.points.exports import ROWS
from dashboard.ui.files import Table
from store.features import Features
from store.schema.features import FACTORS, point_title

#: What is measured between two points.
BETWEEN_POINTS = ("similarity", "cka")


def token_tables(series: Series, view: str, panels: tuple[str, ...], selected: NDArray[np.bool_]) -> Iterator[Table]:
    """The selected tokens (token,) of each panel, one panel after the other; x and y are those of the picture, 0 to 1."""
    rows = np.flatnonzero(selected)
    known = {name: column[rows] for name, column in _tokens(series.features).items()}
    titles = dict(zip(series.names, series.titles, strict=True))
    for panel in panels:
        places = series.places(view, series.features.n_tokens, panel)[0, rows, 0].astype(np.float64).round(6)
        for start in range(0, max(1, len(rows)), ROWS):
            part = slice(start, start + ROWS)
            own = {name: column[part] for name, column in known.items()}
            yield {
                "point": np.full(len(places[part]), titles[panel], object),
                **own,
                "x": places[part, 0],
                "y": places[part, 1],
            }


def _tokens(features: Features) -> dict[str, NDArray[np.generic]]:
    tokens = features.tokens
    return {
        "token": np.arange(features.n_tokens),
        "wordpiece": np.array(pieces_of(features), object),
        "position": tokens.position.values,
        "sentence": tokens.sentence_index.values,
        "label": np.array([*features.label_names, ""], object)[features.label],
        "kind": np.array(KINDS, object)[kinds_of(tokens.token_flags.values)],
    }


def measure_table(features: Features, measure: str) -> Table:
    """Numbers of every two points, or the share of variance that each factor explains at every point."""
    points = np.array([point_title(point) for point in features.points], object)
    if measure not in BETWEEN_POINTS:
        found = {factor: features.explained.sel(factor=factor).values.round(6) for factor in FACTORS}
        return {"point": points, **found}
    between = features.cka.values if measure == "cka" else cosines(features)
    one, other = np.indices(between.shape)
    return {"point": points[one.ravel()], "other_point": points[other.ravel()], measure: between.ravel().round(6)}
