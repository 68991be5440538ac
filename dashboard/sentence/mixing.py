"""The view Mixing: how much of each token of a sentence comes from the others, layer by layer (Kobayashi et al. 2021)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from dash import html
from numpy.typing import NDArray

from dashboard.sentence.picture import ShownSentence, query_string
from dashboard.ui.charts import RAMP, chart, colour_bar, every, layers_down, layout
from dashboard.ui.markup import scrolling
from store.phrases import as_label
from store.schema.model import RATIOS

#: Above this many tokens a cell is too narrow for its number, which is on hover and in the table.
WRITTEN = 24
#: Above this many tokens the axis does not name all of them.
NAMED = 60


def mixing_figure(values: NDArray[np.floating[Any]], wordpieces: Sequence[str]) -> go.Figure:
    """The figure of shares (layer, token)."""
    layers, tokens = values.shape
    names_of_cells = np.broadcast_to(np.array([*map(as_label, wordpieces)], object), values.shape)
    heat: Any = go.Heatmap(
        z=values,
        customdata=names_of_cells,
        texttemplate="%{z:.0%}" if tokens <= WRITTEN else None,
        hovertemplate="%{customdata}, at %{x}, layer %{y}: %{z:.1%}<extra></extra>",
        colorscale=RAMP,
        zmin=0,
        xgap=1,
        ygap=2,
        colorbar=colour_bar("%"),
    )
    shown = list(range(0, tokens, every(tokens, NAMED)))
    names = [as_label(wordpieces[position]) for position in shown]
    across = {"side": "top", "tickmode": "array", "tickvals": shown, "ticktext": names, "tickangle": -50}
    down = layers_down(layers)
    return go.Figure(heat, layout(across, down, margin={"l": 52, "r": 4, "t": 96, "b": 6}))


def sentence_mixing(shown: ShownSentence) -> list[object]:
    """The selected mixing ratio as a figure and as a table."""
    sentence, ratio = shown.sentence, RATIOS[shown.state.ratio]
    values = sentence.mixing[list(RATIOS).index(shown.state.ratio)]
    caption = (
        f"{ratio.title[0].upper()}{ratio.title[1:]}: the share of a token's new vector that comes from other tokens. "
    )
    figure = chart(
        mixing_figure(values, sentence.wordpieces),
        name="sentence-mixing",
        caption=caption,
        label="Mixing ratio of each token by layer",
        data=f"{shown.url}/mixing.csv{query_string(shown.state, {})}",
        height=150 + 34 * len(values),
        turns=True,
    )
    return [*figure, _table(values, sentence.wordpieces)]


def _table(values: NDArray[np.float32], wordpieces: tuple[str, ...]) -> html.Details:
    head = html.Thead(
        html.Tr([html.Th("token"), *(html.Th(f"L{layer}", className="number") for layer in range(len(values)))])
    )
    rows = [_row(piece, shares) for piece, shares in zip(wordpieces, values.T, strict=True)]
    table = html.Table([head, html.Tbody(rows)], className="rows")
    scroll = scrolling(table, "Mixing of each token")
    return html.Details([html.Summary("Table"), scroll])


def _row(piece: str, shares: NDArray[np.float32]) -> html.Tr:
    numbers = [html.Td(f"{100 * share:.1f}%", className="number") for share in shares.tolist()]
    return html.Tr([html.Th(html.Bdi(piece)), *numbers])
