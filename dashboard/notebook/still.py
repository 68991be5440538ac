"""A sentence as a still picture, where no widget is drawn: the strongest weights of the chosen heads, as lines in an SVG file."""

from base64 import b64encode
from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from dashboard.sentence.sentence import Unit
from dashboard.ui.text import printable
from dashboard.ui.theme import PALETTE, head_colours

#: Most lines that are drawn: the strongest weights.
LINES = 200
#: Pixels of a row, between the columns, of a letter (about), and around the picture.
ROW, APART, LETTER, MARGIN = 22, 260, 8.5, 16
INK, GROUND = PALETTE["light"]["ink"], PALETTE["light"]["background"]


def sentence_svg(
    title: str, units: Sequence[Unit], keys: Sequence[Unit], pattern: NDArray[np.float32], heads: Sequence[int]
) -> str:
    """An SVG of weights (head, query, key) between two columns of tokens. The names of tokens are always text, never markup."""
    left = MARGIN + LETTER * max([4, *(len(unit.name) for unit in units)])
    width = left + APART + LETTER * max([4, *(len(key.name) for key in keys)]) + MARGIN
    height = 2 * ROW + ROW * max(len(units), len(keys)) + MARGIN
    parts = [
        _text(MARGIN, ROW, "start", title),
        *_lines(pattern, heads, left + 6, left + APART - 6),
        *(_text(left, _middle(row), "end", unit.name) for row, unit in enumerate(units)),
        *(_text(left + APART, _middle(row), "start", key.name) for row, key in enumerate(keys)),
    ]
    size = f'width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}"'
    ground = f'<rect width="100%" height="100%" fill="{GROUND}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">{ground}{"".join(parts)}</svg>'


def still_image(kind: str, still: str, *, name: str, title: str) -> str:
    """A still picture as HTML that no frontend refuses: an image of class `name`; `kind` is its MIME type, a PNG is in base64."""
    data = still if kind == "image/png" else b64encode(still.encode()).decode()
    return f'<img class="{name}" alt="{escape(title)}" src="data:{kind};base64,{data}">'


def _middle(row: int) -> float:
    return 2 * ROW + ROW * (row + 0.5)


def _text(x: float, y: float, anchor: str, text: str) -> str:
    shown = escape(printable(text))
    at = f'x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" dominant-baseline="central"'
    return f'<text {at} fill="{INK}" xml:space="preserve">{shown}</text>'


def _lines(pattern: NDArray[np.float32], heads: Sequence[int], left: float, right: float) -> list[str]:
    """The strongest weights of these heads, the weakest of them first."""
    colours = head_colours(len(pattern))["light"]
    chosen = pattern[list(heads)]
    strongest = np.argsort(chosen, axis=None, kind="stable")[-LINES:]
    heads_of, queries, keys = np.unravel_index(strongest, chosen.shape)
    return [
        f'<line x1="{left:.0f}" y1="{_middle(query):.0f}" x2="{right:.0f}" y2="{_middle(key):.0f}" stroke="{colours[heads[head]]}" '
        f'stroke-width="2" stroke-opacity="{chosen[head, query, key]:.2f}"/>'
        for head, query, key in zip(heads_of, queries, keys, strict=True)
    ]
