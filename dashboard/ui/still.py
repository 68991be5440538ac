"""Still pictures of heat maps: an SVG that a page shows at once, in the place of the chart, until the browser has what draws charts.

Heights are in pixels, as a chart has one height; across it is as wide as its window, so there a still has shares of its width.
"""

from html import escape
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.colors import sample_colorscale, unlabel_rgb

#: Most cells of a still: its text goes with the page.
MOST_CELLS = 600
#: Pixels of a text, and from the upper border to the line of the names of columns.
_TEXT, _LINE = 12, 6
#: Pixels of a character at most: texts that are wider than their cells are left out.
_WIDE = 7
#: Pixels between two cells.
_GAP = 2
#: On dark and on light cells, as plotly chooses; the lighter is that of charts.css. Brightness below which a cell is dark.
_ON_DARK, _ON_LIGHT, _DARK = "#fff", "#101214", 128
#: Of names, as --quiet of style.css.
_QUIET = "#495057"
_SVG = f'xmlns="http://www.w3.org/2000/svg" font-family="Roboto,sans-serif" font-size="{_TEXT}" text-anchor="middle"'
#: Characters of an SVG that a URL can hold.
_SAFE = " =/:,()'\""
_WEIGHTS = (0.299, 0.587, 0.114)
Values = NDArray[np.float64]


class Still(NamedTuple):
    """A still as the browser gets it: the URL of its SVG, and its place in the chart, from the top."""

    src: str
    left: int
    width: str
    height: int


def still_of(figure: go.Figure | dict[str, Any], height: int) -> Still | None:
    """The still of a heat map with a name for each column above it, in a chart of this height; None for other charts."""
    if isinstance(figure, dict) or len(figure.data) != 1 or figure.data[0].type != "heatmap":
        return None
    heat, axis, margin = figure.data[0], figure.layout.xaxis, figure.layout.margin
    values = np.array(heat.z, np.float64)
    if axis.side != "top" or heat.x is not None or values.size > MOST_CELLS or not np.isfinite(values).any():
        return None
    names = [
        f"{axis.tickprefix}{column}" if column % (axis.dtick or 1) == 0 else "" for column in range(values.shape[1])
    ]
    cells = _Cells(_colours(heat, values), heat.text, int(margin.t), height - int(margin.t) - int(margin.b))
    longest = max((len(text) for row in cells.texts for text in row), default=0) if cells.texts is not None else 0
    narrow = f"<style>@media(max-width:{_WIDE * longest * len(names)}px){{g+text~text,g+text{{display:none}}}}</style>"
    svg = f"<svg {_SVG}>{narrow}{_names(names, cells.top)}{_drawn(cells)}</svg>"
    src = f"data:image/svg+xml,{quote(svg, safe=_SAFE)}"
    return Still(src, int(margin.l), f"calc(100% - {int(margin.l + margin.r)}px)", height - int(margin.b))


class _Cells(NamedTuple):
    """Colours of cells (row, column) with what is written in them, and their place: from the top, and their height."""

    colours: list[list[str]]
    texts: Any
    top: int
    height: int


def _colours(heat: Any, values: Values) -> list[list[str]]:
    """The colour of each cell; none where it has no value."""
    low = float(np.nanmin(values)) if heat.zmin is None else heat.zmin
    high = float(np.nanmax(values)) if heat.zmax is None else heat.zmax
    shares = np.clip((values - low) / (high - low if high > low else 1), 0, 1)
    shares = 1 - shares if heat.reversescale else shares
    scale = [[place, colour] for place, colour in heat.colorscale]
    colours = np.array(sample_colorscale(scale, np.nan_to_num(shares).ravel().tolist()), object).reshape(values.shape)
    return [list(row) for row in np.where(np.isnan(values), "none", colours)]


def _names(names: list[str], top: int) -> str:
    wide = 100 / len(names)
    each = (_text(name, wide * (column + 0.5), top - _LINE, _QUIET) for column, name in enumerate(names) if name)
    return "".join(each)


def _drawn(cells: _Cells) -> str:
    rows, columns = len(cells.colours), len(cells.colours[0])
    wide, high = 100 / columns, cells.height / rows
    marks, texts = [], []
    for row, colours in enumerate(cells.colours):
        for column, colour in enumerate(colours):
            top = cells.top + row * high
            marks.append(
                f'<rect x="{wide * column:.3f}%" y="{top:.1f}" width="{wide:.3f}%" height="{high:.1f}" fill="{colour}"/>'
            )
            if cells.texts is not None and colour != "none":
                texts.append(_text(cells.texts[row][column], wide * (column + 0.5), top + high / 2 + 4, _ink(colour)))
    return f'<g stroke="#fff" stroke-width="{_GAP}">{"".join(marks)}</g>{"".join(texts)}'


def _text(text: str, across: float, down: float, colour: str) -> str:
    return f'<text x="{across:.3f}%" y="{down:.1f}" fill="{colour}">{escape(text)}</text>' if text else ""


def _ink(colour: str) -> str:
    return _ON_DARK if np.dot(_WEIGHTS, unlabel_rgb(colour)) < _DARK else _ON_LIGHT
