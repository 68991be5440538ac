"""Tab Positions of page Head: the attention weights in the sentence of the selected token, then the mean over the corpus."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from dash import html
from numpy.typing import NDArray

from dashboard.sentence.positions import MARGIN, SHADES, WEIGHT_BAR, positions, read_positions
from dashboard.ui.charts import QUIET, chart, layout
from dashboard.ui.markup import file_href
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.state import LinkState
from store import Corpus
from store.phrases import as_label
from store.schema.model import head_name

#: Tokens of a sentence that can be named beside their rows.
NAMED = 24


def head_positions(context: Context) -> list[object]:
    """Both; without a selected token the mean alone."""
    corpus, state = context.corpus, context.state
    means = read_positions(corpus, state.layer, state.head)
    of_sentence = [] if state.token is None else _of_sentence(corpus, state, state.token)
    return [*of_sentence, *positions(means, beside_matrix=False)]


def _of_sentence(corpus: Corpus, state: LinkState, token: int) -> list[object]:
    row = corpus.rows[token]
    sentence, position = (int(corpus.tokens[name].values[row]) for name in ("sentence_index", "position"))
    pattern = corpus.weights(sentence, layer=state.layer, head=state.head)
    pieces = corpus.wordpieces(corpus.sentence_rows(sentence))
    name = head_name(state.layer, state.head)
    return [
        html.H2(f"Attention of {name} in sentence {sentence:,}"),
        *chart(
            sentence_figure(pattern, pieces, position, state.role),
            name="sentence-positions",
            caption=f"Weights in the sentence of “{pieces[position]}”, whose {state.role} has a frame; same colours as below. ",
            label=f"Attention weights of {name} in sentence {sentence}",
            data=file_href(data_link(corpus), f"sentence/{sentence}/weights/{state.layer}/{state.head}.csv"),
            turns=True,
        ),
    ]


def sentence_figure(pattern: NDArray[np.floating], pieces: list[str], position: int, role: str) -> go.Figure:
    """A cell for each pair of tokens; the row of a selected query, or the column of a key, has a frame."""
    labels = list(map(as_label, pieces))
    named = [f"{index}:{label}" for index, label in enumerate(labels)]
    queries, keys = np.meshgrid(named, named, indexing="ij")
    heat: Any = go.Heatmap(
        z=pattern,
        customdata=np.stack([queries, keys], axis=-1),
        colorscale=SHADES,
        zmin=0,
        zmax=1,
        colorbar=WEIGHT_BAR,
        hovertemplate="query %{customdata[0]}, key %{customdata[1]}: %{z:.4f}<extra></extra>",
    )
    names = {"tickvals": list(range(len(pieces))), "ticktext": labels} if len(pieces) <= NAMED else {}
    across: dict[str, Any] = {"title": "key", **names} | ({"tickangle": -60} if names else {})
    down: dict[str, Any] = {"title": "query", "autorange": "reversed", **names}
    font = {"size": 11, "color": QUIET}
    figure = go.Figure(heat, layout(across, down, zooms=True, margin=MARGIN | _room(names), font=font))
    return figure.add_shape(**_frame(position, len(pieces), role))


def _room(names: dict[str, Any]) -> dict[str, int]:
    """Pixels beside the cells for the names of tokens."""
    return {"l": 84, "b": 84} if names else {}


def _frame(position: int, count: int, role: str) -> dict[str, Any]:
    """Round the row or the column of a position."""
    own, others = (position - 0.5, position + 0.5), (-0.5, count - 0.5)
    (x0, x1), (y0, y1) = (others, own) if role == "query" else (own, others)
    return {"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": {"color": "#D55E00", "width": 2}}
