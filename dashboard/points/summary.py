"""Which points are selected, as a table, and how they differ from the other drawn points.

In a picture of all heads a point counts as selected if it is in at least one of them, and what differs from head to head
is left out of the summary.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.points.columns import Column, column_of, columns, values
from dashboard.points.drawn import Drawn

#: Rows of the table.
ROWS = 200
#: Wordpieces compared.
PIECES = 12
CATEGORIES = ("role", "kind", "label")
NUMBERS = ("norm", "position", "sentence_length", "received", "entropy")

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Row:
    """A selected point."""

    token: int
    wordpiece: str
    position: int
    sentence: int
    label: str
    role: str


@dataclass(frozen=True)
class Share:
    """How frequent a category is among the selected points and among the rest, 0 to 1.

    `lift` is how many times as frequent it is among the selected; infinite where the rest has none, NaN without a rest.
    """

    category: str
    count: int
    selected: float
    rest: float
    lift: float


@dataclass(frozen=True)
class Comparison:
    """Shares of the categories of a column, the most frequent among the selected first."""

    column: str
    title: str
    shares: tuple[Share, ...]


@dataclass(frozen=True)
class Difference:
    """Mean of a number among the selected points and among the rest; NaN where there is none.

    `standardized` is the difference of the means over the root of the mean of both variances (Cohen's d).
    """

    column: str
    title: str
    unit: str
    selected: float
    rest: float
    standardized: float


@dataclass(frozen=True)
class Summary:
    """How many of the drawn points (queries and keys) are selected, and how they differ from the others."""

    count: int
    of: int
    share: float
    comparisons: tuple[Comparison, ...]
    differences: tuple[Difference, ...]


def selected_rows(drawn: Drawn, selected: Mask, *, limit: int = ROWS) -> list[Row]:
    """The first selected points of a mask (panel, token, role)."""
    points = np.flatnonzero(selected.any(axis=0))[:limit]
    tokens = points // 2
    rows = drawn.rows[tokens]
    labels = _names(drawn, "label")
    position, sentence = (drawn.corpus.tokens[name].values[rows] for name in ("position", "sentence_index"))
    return [
        Row(int(token), piece, int(place), int(own), labels[token], ("query", "key")[point % 2])
        for point, token, piece, place, own in zip(
            points, tokens, drawn.corpus.wordpieces(rows), position, sentence, strict=True
        )
    ]


def summarize(drawn: Drawn, selected: Mask) -> Summary:
    """How the points of a mask (panel, token, role) differ from the other drawn points."""
    flat: Mask = np.any(selected, axis=0)
    known = columns(drawn.corpus)
    compared = [known[name] for name in CATEGORIES if name in known]
    numbers = [known[name] for name in NUMBERS if drawn.head is not None or not known[name].per_head]
    return Summary(
        count=int(flat.sum()),
        of=flat.size,
        share=float(flat.mean()),
        comparisons=(*(_comparison(drawn, column, flat) for column in compared), _pieces(drawn, flat)),
        differences=tuple(_difference(drawn, column, flat) for column in numbers),
    )


def _comparison(drawn: Drawn, column: Column, selected: Mask) -> Comparison:
    codes = values(column, drawn)[0].astype(np.int64)
    names = [column.category(code) for code in range(int(codes.max(initial=-1)) + 1)]
    return Comparison(column.name, column.title, _shares(codes, selected, names, len(names)))


def _pieces(drawn: Drawn, selected: Mask) -> Comparison:
    ids = np.broadcast_to(drawn.of_tokens("token_id")[:, None], selected.shape)
    names = drawn.corpus.vocab
    return Comparison("wordpiece", "wordpiece", _shares(ids, selected, names, PIECES))


def _shares(
    codes: NDArray[np.integer], selected: Mask, names: list[str] | NDArray[np.object_], most: int
) -> tuple[Share, ...]:
    """Shares of the `most` frequent codes among the selected; -1 is none of them, but counts in the whole."""
    inside, outside = (
        np.bincount(part[part >= 0], minlength=len(names)) for part in (codes[selected], codes[~selected])
    )
    totals = int(selected.sum()), int((~selected).sum())
    order = [int(code) for code in np.argsort(-inside, kind="stable")[:most] if inside[code]]
    return tuple(_share(str(names[code]), int(inside[code]), int(outside[code]), *totals) for code in order)


def _share(name: str, inside: int, outside: int, selected: int, rest: int) -> Share:
    among_selected, among_rest = inside / selected, outside / rest if rest else float("nan")
    lift = among_selected / among_rest if among_rest else float("inf")
    return Share(name, inside, among_selected, among_rest, lift)


def _difference(drawn: Drawn, column: Column, selected: Mask) -> Difference:
    found = values(column, drawn)[0]
    inside, outside = (part[~np.isnan(part)] for part in (found[selected], found[~selected]))
    mean, rest = (float(part.mean()) if part.size else float("nan") for part in (inside, outside))
    spread = np.sqrt((inside.var() + outside.var()) / 2) if inside.size and outside.size else 0.0
    standardized = (mean - rest) / float(spread) if spread > 0 else float("nan")
    return Difference(column.name, column.title, column.unit, mean, rest, standardized)


def _names(drawn: Drawn, name: str) -> list[str]:
    """Category of every drawn token, empty where there is none."""
    if name not in columns(drawn.corpus):
        return [""] * len(drawn.rows)
    column = column_of(drawn.corpus, name)
    return [column.category(code) if code >= 0 else "" for code in values(column, drawn)[0, :, 0].tolist()]
