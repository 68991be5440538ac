"""The views of page Sentence that are charts: mixing by layer, and attention by position; and tab Positions of page Head."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from dash import html
from numpy.typing import NDArray

from dashboard.points.shown import ShownPoints
from dashboard.sentence.picture import ShownSentence, query_string
from dashboard.ui.charts import QUIET, RAMP, chart, colour_bar, every, layers_down, layout
from dashboard.ui.files import Table
from dashboard.ui.markup import file_href, scrolling
from dashboard.ui.text import all_of, significant
from dashboard.ui.theme import PALETTE, between
from dashboard.web.http import data_link
from dashboard.web.results import cached
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.attention import attention_pattern
from store.kernels.bias import AttentionBias
from store.phrases import as_label
from store.schema.model import RATIOS, head_name
from store.text import Window

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
#: Colour stops of the matrix of the sentence, which stands beside this chart (`assets/sentence/weights.mjs`).
_STOPS = (PALETTE["light"]["panel"], PALETTE["light"]["query"], "#00223D")
#: Colour scale of that matrix, from weight 0 to 1 by the square root: most weights are small, and would all look alike.
SHADES = [((step / 16) ** 2, between(_STOPS, step / 16)) for step in range(17)]
#: The colour bar, and the margin of a chart.
WEIGHT_BAR: Any = {"thickness": 10, "title": {"text": "weight"}, "tickvals": [0, 0.1, 0.25, 0.5, 1]}
MARGIN = {"l": 44, "r": 8, "t": 6, "b": 38}
#: Up to this many tokens, rows and columns have the names of tokens.
NAMED = 24
#: Above this many tokens a cell is too narrow for its number, which is on hover and in the table.
WRITTEN = 24
#: Above this many tokens the axis does not name all of them.
NAMED_PIECES = 60


@dataclass(frozen=True)
class PositionLimits:
    """Most sentences, from the first (a uniform sample), most positions of each, and most tokens of a batch with padding."""

    sentences: int = 1_000
    positions: int = 64
    tokens: int = 8_192


LIMITS = PositionLimits()


@dataclass(frozen=True, eq=False)
class PositionMeans:
    """Attention of one head by position.

    Attributes
    ----------
    mean
        Mean attention weight over the sentences that have both positions: (query_position, key_position).
    count
        Number of sentences that have both positions, never 0: (query_position, key_position).
    sentences
        Number of sentences averaged over.
    longest
        Tokens of the longest of these sentences; positions beyond `mean` are left out.
    """

    mean: Floats
    count: NDArray[np.int64]
    sentences: int
    longest: int


@cached
def position_means(corpus: Corpus, layer: int, head: int, limits: PositionLimits = LIMITS) -> PositionMeans:
    """Mean attention weights of a head by position, over the first sentences of the corpus."""
    starts, sizes = (
        corpus.sentences[name].values[: limits.sentences].astype(np.int64) for name in ("row_start", "row_size")
    )
    stop = int((starts + sizes).max())
    query, key = (array.variable[layer, head, :stop].values.astype(np.float32) for array in (corpus.query, corpus.key))
    bias = corpus.bias and corpus.bias.part(layer, head)
    total = np.zeros((min(limits.positions, int(sizes.max())),) * 2)
    for batch in _batches(sizes, limits.tokens):
        _add(total, query, key, starts[batch], sizes[batch], bias)
    count = _sentences_with_both(sizes, len(total))
    return PositionMeans(total / count, count, len(sizes), int(sizes.max()))


def position_table(corpus: Corpus, layer: int, head: int) -> Table:
    """A row for each pair of positions: the mean weight, and the number of sentences that have both."""
    means = position_means(corpus, layer, head)
    query, key = np.indices(means.mean.shape).reshape(2, -1)
    return {
        "query_position": query,
        "key_position": key,
        "weight": np.array(significant(means.mean.ravel().tolist())),
        "sentences": means.count.ravel(),
    }


def _batches(sizes: Rows, tokens: int) -> Iterator[Rows]:
    """Batches of at most `tokens` tokens with padding, the shortest sentences first: similar lengths need little padding."""
    order = np.argsort(sizes, kind="stable")
    while len(order):
        # The last sentence of a batch is the longest: the batch holds as many as fit at that length.
        fit = np.arange(1, len(order) + 1) * sizes[order] <= tokens
        count = max(1, int(fit.sum()))
        yield order[:count]
        order = order[count:]


def _add(
    total: Floats,
    query: NDArray[np.float32],
    key: NDArray[np.float32],
    starts: Rows,
    sizes: Rows,
    bias: AttentionBias | None,
) -> None:
    """Add the patterns of some sentences to `total`, up to the last counted position."""
    offset = np.arange(int(sizes.max()))
    real = offset < sizes[:, None]
    rows = starts[:, None] + np.minimum(offset, sizes[:, None] - 1)
    counted = real[:, : len(total)]
    pattern = attention_pattern(query[None, rows[:, : len(total)]], key[None, rows], real, bias=bias)[0]
    sums = np.einsum("sqk,sq->qk", pattern[..., : len(total)], counted.astype(np.float32))
    total[: len(sums), : len(sums)] += sums


def _sentences_with_both(sizes: Rows, positions: int) -> NDArray[np.int64]:
    """Number of sentences that have both positions: (query_position, key_position)."""
    longer = (sizes[:, None] > np.arange(positions)).sum(axis=0)
    return np.minimum.outer(longer, longer)


@dataclass(frozen=True)
class ShownMeans:
    """The means of a head by position: name of the head, the averaged sentences in words, and the URL of the numbers."""

    means: PositionMeans
    name: str
    over: str
    csv: str


def read_positions(corpus: Corpus, layer: int, head: int, limits: PositionLimits = LIMITS) -> ShownMeans:
    """The means of a head by position."""
    means = position_means(corpus, layer, head, limits)
    over = f"Mean weight over the first {means.sentences:,} of {all_of(corpus, 'sentence')}"
    return ShownMeans(
        means, head_name(layer, head), over, file_href(data_link(corpus), f"positions/{layer}/{head}.csv")
    )


def positions(shown: ShownMeans, *, beside_matrix: bool) -> list[object]:
    """The mean pattern of a head as a heat map; `beside_matrix` says whether a sentence's matrix stands beside it."""
    means, name, over = shown.means, shown.name, shown.over
    scale = "; on the colour scale of the sentence's matrix" if beside_matrix else ""
    caption = f"{over}, for each cell those with both positions{_cut(means)}{scale}. "
    return [
        html.H2(f"Attention of {name} by position"),
        *chart(
            position_figure(means),
            name="positions",
            caption=caption,
            label=f"Mean attention of {name} by position",
            of=over,
            data=shown.csv,
            turns=True,
        ),
    ]


def _cut(means: PositionMeans) -> str:
    shown = len(means.mean)
    return f"; positions 0 to {shown - 1} of {means.longest}" if shown < means.longest else ""


def position_figure(means: PositionMeans) -> go.Figure:
    """A cell for each pair of positions, with its number of sentences on hover."""
    heat: Any = go.Heatmap(
        z=np.where(means.count > 0, means.mean, np.nan),
        customdata=means.count,
        colorscale=SHADES,
        zmin=0,
        zmax=1,
        colorbar=WEIGHT_BAR,
        hovertemplate="query at %{y}, key at %{x}: %{z:.4f}<br>%{customdata} sentences<extra></extra>",
    )
    across, down = {"title": "position of the key"}, {"title": "position of the query", "autorange": "reversed"}
    return go.Figure(heat, layout(across, down, zooms=True, margin=MARGIN, font={"size": 11, "color": QUIET}))


def head_positions(points: ShownPoints) -> list[object]:
    """The tab Positions of page Head: the sentence of the selected token, if any, and the means by position."""
    corpus, state = points.corpus, points.state
    means = read_positions(corpus, state.layer, state.head)
    of_sentence = [] if state.token is None else _draw_sentence_of_token(corpus, state, state.token)
    return [*of_sentence, *positions(means, beside_matrix=False)]


def _draw_sentence_of_token(corpus: Corpus, state: LinkState, token: int) -> list[object]:
    row = corpus.rows[token]
    sentence, position = (int(corpus.tokens[name].values[row]) for name in ("sentence_index", "position"))
    every = corpus.wordpieces(corpus.sentence_rows(sentence))
    window = Window.around(position, len(every))
    pattern = corpus.weights(sentence, layer=state.layer, head=state.head, queries=window.positions)
    pieces, name = window.of(every), head_name(state.layer, state.head)
    file = f"sentence/{sentence}/weights/{state.layer}/{state.head}.csv{_of_window(window)}"
    return [
        html.H2(f"Attention of {name} in sentence {sentence:,}"),
        *chart(
            sentence_figure(window.of(pattern.T).T, pieces, position, state.role, window.first),
            name="sentence-positions",
            caption=f"Weights in the sentence of “{every[position]}”, whose {state.role} has a frame; same colours as below. {_part(window)}",
            label=f"Attention weights of {name} in sentence {sentence}",
            data=file_href(data_link(corpus), file),
            turns=True,
        ),
    ]


def _part(window: Window) -> str:
    """A remark on the shown part of a long sentence; empty where all is shown."""
    return "" if window.is_whole else f"{window.name.capitalize()}; page Sentence shows the others. "


def _of_window(window: Window) -> str:
    return f"?window={window.first}&keywindow={window.first}" if window.first else ""


def sentence_figure(
    pattern: NDArray[np.floating], pieces: list[str], position: int, role: str, first: int = 0
) -> go.Figure:
    """A cell for each pair of tokens; the row of a selected query, or the column of a key, has a frame.

    `first` is the position of the first token.
    """
    labels = list(map(as_label, pieces))
    named = [f"{index}:{label}" for index, label in enumerate(labels, first)]
    queries, keys = np.meshgrid(named, named, indexing="ij")
    heat: Any = go.Heatmap(
        z=pattern,
        x0=first,
        y0=first,
        dx=1,
        dy=1,
        customdata=np.stack([queries, keys], axis=-1),
        colorscale=SHADES,
        zmin=0,
        zmax=1,
        colorbar=WEIGHT_BAR,
        hovertemplate="query %{customdata[0]}, key %{customdata[1]}: %{z:.4f}<extra></extra>",
    )
    names = {"tickvals": list(range(first, first + len(pieces))), "ticktext": labels} if len(pieces) <= NAMED else {}
    across: dict[str, Any] = {"title": "key", **names} | ({"tickangle": -60} if names else {})
    down: dict[str, Any] = {"title": "query", "autorange": "reversed", **names}
    font, room = {"size": 11, "color": QUIET}, {"l": 84, "b": 84} if names else {}
    figure = go.Figure(heat, layout(across, down, zooms=True, margin=MARGIN | room, font=font))
    return figure.add_shape(**_frame(position, (first, first + len(pieces)), role))


def _frame(position: int, ends: tuple[int, int], role: str) -> dict[str, Any]:
    """The frame around the row or the column of a position."""
    own, others = (position - 0.5, position + 0.5), (ends[0] - 0.5, ends[1] - 0.5)
    (x0, x1), (y0, y1) = (others, own) if role == "query" else (own, others)
    return {"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": {"color": "#D55E00", "width": 2}}


def mixing_figure(values: NDArray[np.floating[Any]], wordpieces: Sequence[str], first: int = 0) -> go.Figure:
    """A heat map of mixing ratios (layer, token); `first` is the position of the first token."""
    layers, tokens = values.shape
    names_of_cells = np.broadcast_to(np.array([*map(as_label, wordpieces)], object), values.shape)
    heat: Any = go.Heatmap(
        z=values,
        x0=first,
        dx=1,
        customdata=names_of_cells,
        texttemplate="%{z:.0%}" if tokens <= WRITTEN else None,
        hovertemplate="%{customdata}, at %{x}, layer %{y}: %{z:.1%}<extra></extra>",
        colorscale=RAMP,
        zmin=0,
        xgap=1,
        ygap=2,
        colorbar=colour_bar("%"),
    )
    shown = list(range(0, tokens, every(tokens, NAMED_PIECES)))
    names = [as_label(wordpieces[position]) for position in shown]
    places = [first + position for position in shown]
    across = {"side": "top", "tickmode": "array", "tickvals": places, "ticktext": names, "tickangle": -50}
    down = layers_down(layers)
    return go.Figure(heat, layout(across, down, margin={"l": 52, "r": 4, "t": 96, "b": 6}))


def sentence_mixing(shown: ShownSentence) -> list[object]:
    """The selected mixing ratio as a figure and as a table."""
    sentence, ratio = shown.sentence, RATIOS[shown.state.ratio]
    window = Window.at(shown.windows[0].first, len(sentence.wordpieces))
    values = window.of(sentence.mixing[list(RATIOS).index(shown.state.ratio)].T).T
    wordpieces = window.of(sentence.wordpieces)
    caption = (
        f"{ratio.title[0].upper()}{ratio.title[1:]}: the share of a token's new vector that comes from other tokens. "
    )
    figure = chart(
        mixing_figure(values, wordpieces, window.first),
        name="sentence-mixing",
        caption=caption,
        label="Mixing ratio of each token by layer",
        data=f"{shown.url}/mixing.csv{query_string(shown.state, {})}",
        height=150 + 34 * len(values),
        turns=True,
    )
    return [*figure, _table(values, wordpieces)]


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
