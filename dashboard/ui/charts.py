"""Charts: layout shared by all figures, the heat map of all heads with its still picture, and a figure with its caption on a page.

A still is an SVG that a page shows in the place of a heat map until the browser has loaded the chart library. Heights are in
pixels, as a chart has one height; a chart is as wide as its window, so widths of a still are shares of the chart's width.
"""

from collections.abc import Mapping, Sequence
from html import escape, unescape
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import plotly.graph_objects as go
from dash import html
from numpy.typing import NDArray
from plotly.basedatatypes import BaseTraceType
from plotly.colors import sample_colorscale, unlabel_rgb

from dashboard.ui.markup import Chart
from dashboard.ui.theme import DOT_SYMBOLS, MANTINE
from store.schema.model import head_name

#: Grey that is legible on white and on black; charts.css sets the page's own.
QUIET = "#868E96"
LINE = "rgba(134,142,150,0.25)"
#: Pixels of the texts of a chart and of its notes: --text-small and --text-tiny of assets/style.css.
TEXT, NOTE = 12, 11
#: Colours of Okabe and Ito that are visible on white and on black, with a darker purple, as theirs looks like `QUIET` in deuteranopia.
SERIES = ("#0072B2", "#D55E00", "#009E73", "#B5478F", QUIET)
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x-thin-open")
#: Colour scale of amounts, from little to much; `DIVERGING` is the scale of differences, palest at 0.
RAMP = [(0, "#F1F5F9"), (0.4, "#9CC7E6"), (0.7, "#3F8FC9"), (1, "#00223D")]
#: Colour scale of numbers of points or pairs: green, as blue and vermillion stand for queries and keys.
DENSITY = [(0, "#D3EBD9"), (0.5, "#2F9A5B"), (1, "#06371B")]
DIVERGING = [(0, "#7A3200"), (0.25, "#E9A06C"), (0.5, "#F4F4F4"), (0.75, "#79B4DB"), (1, "#00223D")]
#: Viridis without its light end, which is invisible on white: even steps of lightness for every colour vision. For charts that turn.
STEPS = ("#440154", "#414487", "#2A788E", "#22A884", "#7AD151")
Layout = dict[str, Any]
#: A vertical axis of shares, from 0.
SHARES: Layout = {"tickformat": ".0%", "showgrid": True, "rangemode": "tozero"}
#: A click on an entry of a legend shows its trace alone, a second click all traces.
ISOLATES: Layout = {"itemclick": "toggleothers", "itemdoubleclick": False}
#: Pixels reserved beside a heat map for its colour bar, so that the map has the place of its still; more for a bar with a title.
BAR, BAR_WITH_TITLE = 72, 106
#: Most heads whose cells show their numbers: with more, a cell is too narrow, and hover alone shows the number.
WRITTEN = 20
_CONFIG: Any = {"displayModeBar": False, "showSendToCloud": False, "plotlyServerURL": ""}
#: Most cells of a still, whose text the page contains.
MOST_CELLS = 600
#: Pixels of a still from the upper border to the line of the names of columns.
_LINE = 6
#: Largest width in pixels of a character of a still: texts wider than their cells are left out.
_WIDE = 7
#: Pixels between two cells of a still.
_GAP = 2
#: Text colours on dark and on light cells, as plotly chooses them (the light one as in charts.css); brightness below which a cell is dark.
_ON_DARK, _ON_LIGHT, _DARK = "#fff", "#101214", 128
#: Colour of the names of rows and columns, as --quiet of style.css.
_NAME_INK = "#495057"
_SVG = f'xmlns="http://www.w3.org/2000/svg" font-family="Roboto,sans-serif" font-size="{TEXT}" text-anchor="middle"'
#: Characters of an SVG that a URL can hold.
_SAFE = " =/:,()'\""
#: Shares of red, green and blue in the brightness of a colour.
_BRIGHTNESS = (0.299, 0.587, 0.114)
Values = NDArray[np.float64]


class DotGroup(NamedTuple):
    """Heads of a chart that look alike: their title, whether each head is one of them (layer, head), and plotly's marker of their dots."""

    title: str
    heads: NDArray[np.bool_]
    marker: dict[str, Any]


def dot_groups(
    categories: NDArray[np.str_], titles: Mapping[str, str], colours: Sequence[str], *, size: int, without: str
) -> list[DotGroup]:
    """Groups of heads by category (layer, head), with a colour and a symbol each; heads without one ("") come first, small and grey.

    `titles` has the categories in the order of the colours; categories without heads are left out. `without` is a title.
    """
    line = {"color": QUIET, "width": 1}
    every = [
        DotGroup(titles[name], categories == name, {"size": size, "color": colour, "symbol": symbol, "line": line})
        for name, colour, symbol in zip(titles, colours, DOT_SYMBOLS, strict=True)
    ]
    small = {"size": 7, "color": QUIET, "opacity": 0.85}
    return [DotGroup(without, categories == "", small), *(group for group in every if group.heads.any())]


def chart(
    figure: go.Figure | Layout,
    *,
    name: str,
    caption: object,
    label: str,
    of: str = "",
    elsewhere: str = "",
    data: str | None = None,
    height: int = 300,
    opens: bool = False,
    turns: bool = False,
) -> list[object]:
    """The chart of a figure or of its JSON, and below it its caption; `data` is the URL of its numbers as CSV.

    `of` names the sentences or tokens of its numbers for a saved image, which has no page around it; empty for one sentence
    and for numbers that are no statistic. `elsewhere` says where on the page the numbers are as text; a saved image leaves
    this out.
    A click in a chart that `opens` goes to the head at the click. A chart that `turns` has colours for white: on a dark page
    its lightness is inverted.
    """
    saves: list[Any] = [_save_button(name, form) for form in ("png", "svg")]
    saves += [html.A("CSV", href=data, download="", title="Save the numbers as CSV")] if data else []
    # Dash reports the box of a new chart as None, as it does when a reader takes the box away: {} is neither.
    named: Any = {"id": {"opens": name}, "selectedData": {}} if opens else {}
    still = still_of(figure, height)
    named |= {"still": still._asdict()} if still else {}
    graph = Chart(figure=figure, config=_CONFIG, style={"height": f"{height}px"}, **named)
    classes = " ".join(["chart", *(["opens"] if opens else []), *(["turns"] if turns else [])])
    return [
        # Reserve the room of the chart while the browser loads the chart library: nothing below moves.
        html.Div(graph, id=name, className=classes, style={"minHeight": f"{height}px"}, **_named(label, of, elsewhere)),
        html.P(
            [
                *_legend_keys(figure, name),
                *(caption if isinstance(caption, list) else [caption]),
                html.Span(saves, className="saves"),
            ],
            className="caption",
        ),
    ]


def _save_button(chart: str, form: str) -> html.Button:
    saves: Any = {"data-chart": chart, "data-save": form}
    return html.Button(form.upper(), type="button", title=f"Save as {form.upper()}", **saves)


def _legend_keys(figure: go.Figure | Layout, name: str) -> list[html.Span]:
    """Buttons for a keyboard in place of the legend's entries, which are a picture; visible when they have the focus."""
    if not figure["layout"]["showlegend"]:
        return []
    keys = [_legend_key(name, unescape(trace["name"])) for trace in figure["data"] if _is_in_legend(trace)]
    return [html.Span(keys, className="legend-keys")] if len(keys) > 1 else []


def _is_in_legend(trace: Any) -> bool:
    """Whether the legend has an entry for a trace of plotly, or for its JSON."""
    known = trace.to_plotly_json() if isinstance(trace, BaseTraceType) else trace
    return bool(known.get("name")) and known.get("showlegend") is not False


def _legend_key(chart: str, title: str) -> html.Button:
    """Button that shows one trace alone. The browser finds the trace by name, as some models lack traces (`web.special_names`)."""
    shows: Any = {"data-chart": chart, "data-name": title, "aria-pressed": "false"}
    return html.Button(f"Only {title}", type="button", **shows)


def _named(label: str, of: str, elsewhere: str) -> dict[str, Any]:
    """Attributes: the label for a screen reader, and title and tokens for a saved image."""
    spoken = {"aria-label": f"{label}; {elsewhere}", "data-title": label} if elsewhere else {"aria-label": label}
    return {"role": "img"} | spoken | ({"data-of": of} if of else {})


def heat_map(
    values: NDArray[np.float64],
    *,
    written: list[list[str]],
    hover: list[list[str]],
    unit: str,
    diverging: bool = False,
    reverse: bool = False,
) -> go.Figure:
    """The figure of values (layer, head).

    `written` is in the cells, `hover` in the tooltips. `diverging` colours are palest at 0; `reverse` gives small numbers,
    such as the first ranks, the darkest colours. Differences of shares are drawn in percentage points.
    """
    layers, heads = values.shape
    drawn = 100 * values if unit == "points" else values
    heat: Any = go.Heatmap(
        z=drawn,
        text=written if heads <= WRITTEN else None,
        texttemplate="%{text}" if heads <= WRITTEN else None,
        hovertext=hover,
        hovertemplate="%{customdata}: %{hovertext}<extra></extra>",
        customdata=names(layers, heads),
        reversescale=reverse,
        xgap=2,
        ygap=2,
        colorbar=colour_bar(unit),
        **_colours(drawn, diverging),
    )
    across = {"side": "top", "tickprefix": "H", "dtick": every(heads), "tickangle": 0, "tickfont": {"size": NOTE}}
    margin = {"l": 38, "r": BAR if unit == "%" else BAR_WITH_TITLE, "t": 36, "b": 6}
    return go.Figure(heat, layout(across, layers_down(layers), margin=margin))


def heat_map_height(layers: int) -> int:
    """Height in pixels of a heat map of all heads."""
    return 48 + 34 * layers


def _colours(values: NDArray[np.float64], diverging: bool) -> dict[str, Any]:
    """The colour scale of values; a diverging scale is symmetric around 0."""
    if not diverging:
        return {"colorscale": RAMP}
    most = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 1.0
    return {"colorscale": DIVERGING, "zmid": 0, "zmin": -most, "zmax": most}


def layout(x: Mapping[str, Any], y: Mapping[str, Any], *, zooms: bool = False, **more: Any) -> Layout:
    """The layout of a figure with these axes; `title` of an axis is a text. Where it `zooms`, a reader zooms by dragging."""
    drag: Layout = {"fixedrange": not zooms}
    base: Layout = {
        "template": "none",  # plotly's own is 7 kB in every figure
        "margin": {"l": 52, "r": 12, "t": 8, "b": 42 if x.get("title") else 24},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": TEXT, "color": QUIET, "family": MANTINE["fontFamily"]} | more.pop("font", {}),
        "xaxis": axis(**drag, **x),
        "yaxis": axis(**drag, **y),
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", **ISOLATES},
        "hoverlabel": {"align": "left"},
        "showlegend": False,
        "dragmode": "zoom" if zooms else False,
    }
    return base | more


def axis(title: str = "", **more: Any) -> Layout:
    """An axis without a grid unless asked for one."""
    base: Layout = {
        "title": {"text": title, "standoff": 8},
        "showgrid": False,
        "zeroline": False,
        "gridcolor": LINE,
        "showline": False,
        "ticks": "",
        "automargin": True,
        "ticklabeloverflow": "allow",  # without it plotly measures every label, a tenth of the drawing time of a chart
        "color": QUIET,
        "fixedrange": True,
    }
    return base | more


def layers_across(layers: int, beside: float = 0.4) -> Layout:
    """The horizontal axis of a figure by layer, with room of `beside` layers before the first and after the last."""
    span = [-beside, layers - 1 + beside]
    return {"tickprefix": "L", "dtick": every(layers), "range": span}


def layers_down(layers: int) -> Layout:
    """The vertical axis of a heat map by layer, the first on top."""
    return {"autorange": "reversed", "tickprefix": "L", "dtick": every(layers)}


def colour_bar(unit: str) -> Layout:
    """The colour bar of a unit; shares in per cent, their differences in percentage points with a sign."""
    shares = {"%": ".0%", "points": "+"}
    title = "" if unit == "%" else unit
    return {
        "thickness": 10,
        "outlinewidth": 0,
        "x": 1.01,
        "tickformat": shares.get(unit, ""),
        "title": {"text": title, "side": "right"},
    }


def colour_bar_above(unit: str) -> Layout:
    """The colour bar as a row above the chart: beside it, the bar would take a third of a narrow window."""
    lying = {"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1, "yanchor": "bottom", "len": 0.9}
    bar = colour_bar(unit)
    return bar | lying | {"title": bar["title"] | {"side": "top"}}


def names(layers: int, heads: int) -> list[list[str]]:
    """Name of every head: [layer][head]."""
    return [[head_name(layer, head) for head in range(heads)] for layer in range(layers)]


def every(count: int, most: int = 24) -> int:
    """Step between the ticks of `count` numbers, so that there are at most `most` ticks."""
    return -(-count // most)


def error_bars(means: NDArray[np.float64], between: NDArray[np.float64], colour: str) -> dict[str, Any]:
    """Bars from one end to the other of the intervals (bound, ...) around means (...)."""
    low, high = between
    ends = {"array": np.maximum(high - means, 0), "arrayminus": np.maximum(means - low, 0)}
    return {"type": "data", "symmetric": False, **ends, "color": colour, "thickness": 1.5, "width": 4}


def square(figure: go.Figure) -> go.Figure:
    """The figure with cells as high as they are wide."""
    figure.update_yaxes(scaleanchor="x", scaleratio=1, constrain="domain")
    figure.update_xaxes(constrain="domain")
    return figure


class Still(NamedTuple):
    """A still for the browser: the URL of its SVG, and its place in the chart."""

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
    cells = _Cells(_cell_colours(heat, values), heat.text, int(margin.t), height - int(margin.t) - int(margin.b))
    longest = max((len(text) for row in cells.texts for text in row), default=0) if cells.texts is not None else 0
    narrow = f"<style>@media(max-width:{_WIDE * longest * len(names)}px){{g+text~text,g+text{{display:none}}}}</style>"
    svg = f"<svg {_SVG}>{narrow}{_names(names, cells.top)}{_drawn(cells)}</svg>"
    src = f"data:image/svg+xml,{quote(svg, safe=_SAFE)}"
    return Still(src, int(margin.l), f"calc(100% - {int(margin.l + margin.r)}px)", height - int(margin.b))


class _Cells(NamedTuple):
    """Colours and texts of cells (row, column), and in pixels their distance from the top and their height."""

    colours: list[list[str]]
    texts: Any
    top: int
    height: int


def _cell_colours(heat: Any, values: Values) -> list[list[str]]:
    """The colour of each cell; "none" for a cell without a value."""
    low = float(np.nanmin(values)) if heat.zmin is None else heat.zmin
    high = float(np.nanmax(values)) if heat.zmax is None else heat.zmax
    # Plotly widens a range of one number on both sides.
    shares = np.clip((values - low) / (high - low), 0, 1) if high > low else np.where(np.isnan(values), values, 0.5)
    shares = 1 - shares if heat.reversescale else shares
    scale = [[place, colour] for place, colour in heat.colorscale]
    colours = np.array(sample_colorscale(scale, np.nan_to_num(shares).ravel().tolist()), object).reshape(values.shape)
    return [list(row) for row in np.where(np.isnan(values), "none", colours)]


def _names(names: list[str], top: int) -> str:
    wide = 100 / len(names)
    each = (_text(name, wide * (column + 0.5), top - _LINE, _NAME_INK) for column, name in enumerate(names) if name)
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
    return _ON_DARK if np.dot(_BRIGHTNESS, unlabel_rgb(colour)) < _DARK else _ON_LIGHT
