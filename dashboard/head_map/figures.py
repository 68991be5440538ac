"""Figure 6 of Clark et al. 2019: heads as dots, near each other where they attend alike."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from dashboard.ui.chart_layout import QUIET, RAMP, SERIES, STEPS, colour_bar, layout, names
from store.kernels.labels import LABELS

#: Marks of labels: hue and form.
_FORMS = ("circle", "diamond", "square", "star", "triangle-up", "triangle-down", "cross")
_HUES = (*SERIES[:3], "#1A1B1E", "#E69F00", "#CC79A7", "#56B4E9")


def by_number(
    place: NDArray[np.float64], values: NDArray[np.float64], said: list[list[str]], title: str, chosen: tuple[int, int]
) -> go.Figure:
    """Dots at (layer, head, component) coloured by numbers (layer, head); whole ones, as layers are, in even steps."""
    whole = title == "layer"
    marker = {
        "size": 13,
        "color": values.ravel(),
        "colorscale": STEPS if whole else RAMP,
        "line": {"color": QUIET, "width": 1},
        "colorbar": colour_bar(title),
    }
    return _figure([_dots(place, said, np.ones(values.size, bool), marker, "")], place, chosen)


def by_label(
    place: NDArray[np.float64], labels: NDArray[np.str_], said: list[list[str]], chosen: tuple[int, int]
) -> go.Figure:
    """Dots coloured and formed by labels (layer, head); those without one are small and grey."""
    flat = labels.ravel()
    none: dict[str, Any] = {"size": 7, "color": QUIET, "opacity": 0.85}
    traces = [_dots(place, said, flat == "", none, "no label")]
    for number, label in enumerate(LABELS):
        form = {"color": _HUES[number % len(_HUES)], "symbol": _FORMS[number % len(_FORMS)], "size": 13}
        if (flat == label).any():
            traces.append(_dots(place, said, flat == label, form | {"line": {"color": QUIET, "width": 1}}, label))
    figure = _figure(traces, place, chosen)
    figure.update_layout(showlegend=True)
    return figure


def _dots(
    place: NDArray[np.float64], said: list[list[str]], which: NDArray[np.bool_], marker: dict[str, Any], name: str
) -> Any:
    every = [one for row in names(*place.shape[:2]) for one in row]
    texts = [text for row in said for text in row]
    x, y = place.reshape(-1, place.shape[-1])[which].T[:2]
    return go.Scatter(
        x=x,
        y=y,
        mode="markers",
        marker=marker,
        name=name,
        customdata=[one for one, shown in zip(every, which, strict=True) if shown],
        text=[text for text, shown in zip(texts, which, strict=True) if shown],
        hovertemplate="%{customdata}: %{text}<extra></extra>",
    )


def _figure(traces: list[Any], place: NDArray[np.float64], chosen: tuple[int, int]) -> go.Figure:
    """One scale in both directions; directions mean nothing, so they have no numbers."""
    bare = {"showticklabels": False, "ticks": ""}
    figure = go.Figure(traces, layout(bare, bare, margin={"l": 8, "r": 8, "t": 30, "b": 8}))
    figure.update_yaxes(scaleanchor="x", scaleratio=1)
    x, y = place[chosen][:2]
    figure.add_annotation(x=x, y=y, text=names(*place.shape[:2])[chosen[0]][chosen[1]], ax=0, ay=-26, arrowcolor=QUIET)
    return figure
