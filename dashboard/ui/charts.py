"""Charts: the look that all figures share, the heat map of all heads, and a figure with its caption on a page."""

from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from dash import html
from numpy.typing import NDArray
from plotly.basedatatypes import BaseTraceType

from dashboard.ui.markup import Chart
from dashboard.ui.still import still_of
from dashboard.ui.theme import DOT_SYMBOLS, MANTINE
from store.schema.model import head_name

#: Grey that is legible on white and on black; charts.css sets the page's own.
QUIET = "#868E96"
LINE = "rgba(134,142,150,0.25)"
#: Pixels of the texts of a chart and of its notes: --text-small and --text-tiny of assets/style.css.
TEXT, NOTE = 12, 11
#: Okabe and Ito, those that are seen on white and on black, with a darker purple: theirs is this grey in deuteranopia. Symbols differ too.
SERIES = ("#0072B2", "#D55E00", "#009E73", "#B5478F", QUIET)
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x-thin-open")
#: From little to much, and from less to more with nothing in the middle.
RAMP = [(0, "#F1F5F9"), (0.4, "#9CC7E6"), (0.7, "#3F8FC9"), (1, "#00223D")]
#: How many points or pairs lie somewhere: a hue of its own, as blue and vermillion are queries and keys.
DENSITY = [(0, "#D3EBD9"), (0.5, "#2F9A5B"), (1, "#06371B")]
DIVERGING = [(0, "#7A3200"), (0.25, "#E9A06C"), (0.5, "#F4F4F4"), (0.75, "#79B4DB"), (1, "#00223D")]
#: Viridis up to where it is lost on white: even steps of lightness, in every kind of colour vision. For charts that turn.
STEPS = ("#440154", "#414487", "#2A788E", "#22A884", "#7AD151")

Layout = dict[str, Any]

#: A vertical axis of shares, from 0.
SHARES: Layout = {"tickformat": ".0%", "showgrid": True, "rangemode": "tozero"}
#: An entry of a legend shows its own alone, and once more all.
ISOLATES: Layout = {"itemclick": "toggleothers", "itemdoubleclick": False}
#: Pixels beside a heat map that its colour bar takes at most, so that the map stands where its still stood; with a title more.
BAR, BAR_WITH_TITLE = 72, 106
#: Above this many heads a cell is too narrow for its number; it is there on hover.
WRITTEN = 20
_CONFIG: Any = {"displayModeBar": False, "showSendToCloud": False, "plotlyServerURL": ""}


class DotGroup(NamedTuple):
    """Heads of a chart that look alike: their title, which they are (layer, head), and plotly's marker of their dots."""

    title: str
    heads: NDArray[np.bool_]
    marker: dict[str, Any]


def dot_groups(
    categories: NDArray[np.str_], titles: Mapping[str, str], colours: Sequence[str], *, size: int, without: str
) -> list[DotGroup]:
    """Heads by category (layer, head), each with a colour and a symbol; first those `without` one, "", small and grey.

    `titles` has the categories in the order of the colours; those of no head are left out.
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

    `of` names the sentences or tokens that its numbers are of, for a saved image, which has no page around it; empty for one
    sentence and for what is no statistic. `elsewhere` says where on the page the numbers can be read as text, which no saved
    image says.
    A click in a chart that `opens` goes to the head it names. One that `turns` is of colours on white: on a dark page its
    lightness is turned round.
    """
    saves: list[Any] = [_save_button(name, form) for form in ("png", "svg")]
    saves += [html.A("CSV", href=data, download="", title="Save the numbers as CSV")] if data else []
    named: Any = {"id": {"opens": name}} if opens else {}
    still = still_of(figure, height)
    named |= {"still": still._asdict()} if still else {}
    graph = Chart(figure=figure, config=_CONFIG, style={"height": f"{height}px"}, **named)
    classes = " ".join(["chart", *(["opens"] if opens else []), *(["turns"] if turns else [])])
    return [
        # The room of the chart while the browser fetches what draws it: nothing below moves.
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
    """What a keyboard presses instead of the entries of the legend, which are a picture; seen where it has the focus."""
    if not figure["layout"]["showlegend"]:
        return []
    keys = [_legend_key(name, unescape(trace["name"])) for trace in figure["data"] if _is_in_legend(trace)]
    return [html.Span(keys, className="legend-keys")] if len(keys) > 1 else []


def _is_in_legend(trace: Any) -> bool:
    """Of a trace of plotly, or of its JSON."""
    known = trace.to_plotly_json() if isinstance(trace, BaseTraceType) else trace
    return bool(known.get("name")) and known.get("showlegend") is not False


def _legend_key(chart: str, title: str) -> html.Button:
    """A trace is found by its name: for some models traces are left out, see `dashboard.web.special_names`."""
    shows: Any = {"data-chart": chart, "data-name": title, "aria-pressed": "false"}
    return html.Button(f"Only {title}", type="button", **shows)


def _named(label: str, of: str, elsewhere: str) -> dict[str, Any]:
    """The label for who does not see the chart, and what a saved image says."""
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

    `written` is in the cells, `hover` in the tooltips. Diverging colours have nothing in the middle; reversed ones have
    the most contrast where a number is small, as ranks are. Differences of shares are drawn in points.
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
    """Pixels of a heat map of all heads."""
    return 48 + 34 * layers


def _colours(values: NDArray[np.float64], diverging: bool) -> dict[str, Any]:
    """A diverging scale is symmetric around 0."""
    if not diverging:
        return {"colorscale": RAMP}
    most = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 1.0
    return {"colorscale": DIVERGING, "zmid": 0, "zmin": -most, "zmax": most}


def layout(x: Mapping[str, Any], y: Mapping[str, Any], *, zooms: bool = False, **more: Any) -> Layout:
    """The layout of a figure with these axes; `title` of an axis is a text. A reader zooms by dragging where it `zooms`."""
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
        "ticklabeloverflow": "allow",  # every label is measured otherwise, a tenth of the time of a chart
        "color": QUIET,
        "fixedrange": True,
    }
    return base | more


def layers_across(layers: int, beside: float = 0.4) -> Layout:
    """The horizontal axis of a figure by layer, with so much room before the first and after the last."""
    span = [-beside, layers - 1 + beside]
    return {"tickprefix": "L", "dtick": every(layers), "range": span}


def layers_down(layers: int) -> Layout:
    """The vertical axis of a heat map by layer, the first on top."""
    return {"autorange": "reversed", "tickprefix": "L", "dtick": every(layers)}


def colour_bar(unit: str) -> Layout:
    """What the colours are; shares as per cent, their differences as points with a sign."""
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
    """The same, lying above the chart: beside it, it would take a third of a narrow window."""
    lying = {"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1, "yanchor": "bottom", "len": 0.9}
    bar = colour_bar(unit)
    return bar | lying | {"title": bar["title"] | {"side": "top"}}


def names(layers: int, heads: int) -> list[list[str]]:
    """Name of every head: [layer][head]."""
    return [[head_name(layer, head) for head in range(heads)] for layer in range(layers)]


def every(count: int, most: int = 24) -> int:
    """Steps between the ticks of so many numbers, so that there are not too many."""
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
