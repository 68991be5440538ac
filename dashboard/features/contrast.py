"""What the selected tokens hold against the rest: shares of token types, labels and wordpieces inside and outside."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.features.shown import ShownFeatures
from dashboard.ui.markup import heading, scrolling
from dashboard.ui.text import signed

#: Wordpieces with the largest differences that are listed.
WORDPIECES = 8
COLUMNS = ("group", "value", "selected", "share", "others", "share ", "difference, points")


@dataclass(frozen=True)
class Contrast:
    """How many of the selected tokens and of the others have a value, and which share of each."""

    group: str
    value: str
    inside: int
    outside: int
    share: float
    share_outside: float

    @property
    def difference(self) -> float:
        """The difference of the shares."""
        return self.share - self.share_outside


def selection_contrast(shown: ShownFeatures) -> list[object]:
    """The table; nothing where no tokens are selected, or all."""
    selected = shown.selected
    if not shown.selection or not selected.any() or selected.all():
        return []
    rows = [html.Tr(_cells(contrast)) for contrast in contrasts(shown)]
    table = html.Table([heading(COLUMNS, COLUMNS[2:]), html.Tbody(rows)], className="rows")
    caption = f"Shares of the {int(selected.sum()):,} selected tokens and of the {int((~selected).sum()):,} others. "
    listed = f"Wordpieces: the {WORDPIECES} with the largest differences."
    return [
        html.H2("Selected tokens against the others"),
        html.P(caption + listed, className="caption"),
        scrolling(table, "Selected tokens against the others"),
    ]


def contrasts(shown: ShownFeatures) -> list[Contrast]:
    """Token types and labels, then wordpieces, each by the size of the difference."""
    found: list[Contrast] = []
    for name, title in (("kind", "token type"), ("label", "label")):
        if name in shown.columns:
            column = shown.columns[name]
            codes = column.values()[: shown.tokens].astype(np.int64)
            found += contrast_of(title, [*column.column.names, "none"], codes, shown.selected)
    features = shown.series.features
    pieces = features.tokens.token_id.values[: shown.tokens]
    return found + contrast_of("wordpiece", shown.context.corpus.vocab, pieces, shown.selected)[:WORDPIECES]


def contrast_of(
    group: str, names: Sequence[str] | NDArray[np.object_], codes: NDArray[np.integer], selected: NDArray[np.bool_]
) -> list[Contrast]:
    """The contrast of every value that occurs, the largest difference first.

    Parameters
    ----------
    names
        Name of each code.
    codes
        Of each token: (token,); -1 for the last name.
    selected
        Whether each token is selected: (token,).
    """
    values, places = np.unique(codes, return_inverse=True)
    counts = [np.bincount(places[part], minlength=len(values)) for part in (selected, ~selected)]
    shares = [count / count.sum() for count in counts]
    order = np.argsort(-np.abs(shares[0] - shares[1]), kind="stable")
    columns = (column[order].tolist() for column in (values, *counts, *shares))
    return [Contrast(group, str(names[value]), *numbers) for value, *numbers in zip(*columns, strict=True)]


def _cells(contrast: Contrast) -> list[html.Td]:
    shares = [f"{100 * share:.1f}%" for share in (contrast.share, contrast.share_outside)]
    change = signed(100 * contrast.difference, 1)
    numbers = (f"{contrast.inside:,}", shares[0], f"{contrast.outside:,}", shares[1], change)
    return [
        html.Td(contrast.group),
        html.Td(html.Bdi(contrast.value)),
        *(html.Td(text, className="number") for text in numbers),
    ]
