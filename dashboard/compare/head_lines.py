"""The head view of A and of B side by side: queries left, keys right, a line for each weight, on one scale."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from dash import html
from numpy.typing import NDArray

from dashboard.compare.names import LETTERS, lettered, marked
from dashboard.compare.two_models import ModelPair
from dashboard.ui.charts import NOTE, Layout, chart, layout
from dashboard.ui.controls import info
from store.phrases import as_label

Floats = NDArray[np.float32]
#: Of a longer sentence only the matrices are legible.
MOST_TOKENS = 64
#: Pixels of a token, and around the tokens.
LINE, AROUND = 17, 20
#: Lines differ in so many steps of opacity and width; lines below the first step are not drawn.
STEPS = 8
#: A and B, as in compare.css.
COLOURS = ("#009E73", "#AA6BE0")
_MEANING = "The width and opacity of a line grow with the weight, up to the largest weight of both models; weights below {:.1%} have none."


def head_views(two: ModelPair, weights: Floats, tokens: Sequence[str]) -> list[object]:
    """The lines of both models for weights (2, query, key); a note instead for a long sentence."""
    title = html.H3(["Head views on one scale", info("the head views", _MEANING.format(least(weights)))])
    if len(tokens) > MOST_TOKENS:
        note = f"Lines are drawn for at most {MOST_TOKENS} tokens. Choose a shorter sentence, or read the matrices."
        return [title, html.P(note, className="caption")]
    figures = [_view(two, place, weights, tokens) for place in (0, 1)]
    return [title, html.Div(figures, className="figures halves")]


def least(weights: Floats) -> float:
    """The smallest weight that has a line."""
    return float(weights.max()) / STEPS


def _view(two: ModelPair, place: int, weights: Floats, tokens: Sequence[str]) -> html.Div:
    figure = head_lines(weights[place], tokens, most=float(weights.max()), colour=COLOURS[place])
    drawn: Any = chart(
        figure,
        name=f"lines-{LETTERS[place].lower()}",
        caption="",
        label=f"Lines from queries, left, to keys, right: weights of {lettered(two)[place]}",
        height=AROUND + 2 * LINE + LINE * len(tokens),
    )
    return html.Div([html.H3(marked(two, place)), *drawn], className="figure")


def head_lines(weights: Floats, tokens: Sequence[str], *, most: float, colour: str) -> go.Figure:
    """Lines from each query to the keys it attends to (query, key); `most` is the weight of the strongest line."""
    lines = [_lines(queries, keys, step, colour) for step, queries, keys in _steps(weights, most)]
    return go.Figure(lines, _axes(tokens))


def _steps(weights: Floats, most: float) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.intp]]]:
    """Queries and keys of each step of weights, 1 to `STEPS`, the strongest last."""
    steps = np.minimum((STEPS * weights / (most or 1)).astype(int), STEPS)
    for step in range(1, STEPS + 1):
        queries, keys = np.nonzero(steps == step)
        yield step, queries, keys


def _lines(queries: NDArray[np.intp], keys: NDArray[np.intp], step: int, colour: str) -> go.Scatter:
    """The lines of one step as one trace, with a gap between lines."""
    gap = np.full(len(queries), np.nan)
    share = step / STEPS
    return go.Scatter(
        x=np.tile([0, 1, np.nan], len(queries)),
        y=np.stack([queries, keys, gap], axis=1).ravel(),
        mode="lines",
        line={"color": colour, "width": 0.75 + 2.25 * share},
        opacity=0.15 + 0.85 * share,
        hoverinfo="skip",
    )


def _axes(tokens: Sequence[str]) -> Layout:
    """Queries as ticks on the left, keys as texts on the right."""
    labels, places = list(map(as_label, tokens)), list(range(len(tokens)))
    down = {
        "tickvals": places,
        "ticktext": labels,
        "range": [len(tokens) - 0.5, -1.2],
        "tickfont": {"size": NOTE},
    }
    across = {"range": [0, 1], "showticklabels": False}
    text: Layout = {"xref": "x", "yref": "y", "showarrow": False, "font": {"size": NOTE}}
    keys = [
        text | {"x": 1, "y": place, "text": label, "xanchor": "left", "xshift": 4}
        for place, label in zip(places, labels, strict=True)
    ]
    heads = [
        text | {"x": 0, "y": -0.9, "text": "query", "xanchor": "right", "xshift": -4},
        text | {"x": 1, "y": -0.9, "text": "key", "xanchor": "left", "xshift": 4},
    ]
    return layout(across, down, margin={"l": 92, "r": 92, "t": 4, "b": 16}, annotations=[*keys, *heads])
