"""What the selected tokens hold against the rest: shares of token types, labels and wordpieces inside and outside."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.features.data import pieces_of
from dashboard.features.shown import ShownFeatures
from dashboard.ui.tables import heading, scrolling
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
            names = column.column.names
            codes = column.values()[: shown.tokens]
            values = [names[int(code)] if code >= 0 else "none" for code in codes]
            found += _sorted(contrast_of(title, values, shown.selected))
    pieces = pieces_of(shown.series.features)[: shown.tokens]
    return found + _sorted(contrast_of("wordpiece", pieces, shown.selected))[:WORDPIECES]


def contrast_of(group: str, values: Sequence[str], selected: NDArray[np.bool_]) -> Iterator[Contrast]:
    """The contrast of every value of the tokens (token,)."""
    names, codes = np.unique(np.array(values, object).astype(str), return_inverse=True)
    inside = np.bincount(codes[selected], minlength=len(names))
    outside = np.bincount(codes[~selected], minlength=len(names))
    for name, within, without in zip(names.tolist(), inside.tolist(), outside.tolist(), strict=True):
        yield Contrast(group, name, within, without, within / inside.sum(), without / outside.sum())


def _sorted(contrasts: Iterator[Contrast]) -> list[Contrast]:
    return sorted(contrasts, key=lambda contrast: -abs(contrast.difference))


def _cells(contrast: Contrast) -> list[html.Td]:
    shares = [f"{100 * share:.1f} %" for share in (contrast.share, contrast.share_outside)]
    change = signed(100 * contrast.difference, 1)
    numbers = (f"{contrast.inside:,}", shares[0], f"{contrast.outside:,}", shares[1], change)
    return [html.Td(contrast.group), html.Td(contrast.value), *(html.Td(text, className="number") for text in numbers)]
