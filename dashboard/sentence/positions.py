"""The view By position: the mean attention of a head for each pair of positions, over sentences of the corpus."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from dash import html
from numpy.typing import NDArray

from dashboard.ui.charts import QUIET, chart, layout
from dashboard.ui.files import Table
from dashboard.ui.tables import file_href
from dashboard.ui.text import all_of, significant
from dashboard.ui.theme import PALETTE, between
from dashboard.web.cache import cached
from dashboard.web.http import data_link
from store import Corpus
from store.kernels.attention import attention_pattern
from store.schema.model import head_name

#: Sentences at most, from the first on (a uniform sample), and positions of each.
SENTENCES, POSITIONS = 1_000, 64
#: Tokens of a batch, padding included.
TOKENS = 8_192
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
#: Stops of the colours of the sentence's own matrix, which stands beside this one (`assets/sentence/scale.mjs`).
_STOPS = (PALETTE["light"]["panel"], PALETTE["light"]["query"], "#00223D")
#: As there, from no weight to 1 by the square root: most weights are small, and would all look alike.
SHADES = [((step / 16) ** 2, between(_STOPS, step / 16)) for step in range(17)]

#: The bar beside the cells, and the room around them.
WEIGHT_BAR: Any = {"thickness": 10, "title": {"text": "weight"}, "tickvals": [0, 0.1, 0.25, 0.5, 1]}
MARGIN = {"l": 44, "r": 8, "t": 6, "b": 38}


@dataclass(frozen=True, eq=False)
class PositionMeans:
    """Attention of one head by position.

    Attributes
    ----------
    mean
        Mean over the sentences that have both positions: (query_position, key_position).
    count
        How many sentences these are, never 0: (query_position, key_position).
    sentences
        Number of sentences averaged over.
    longest
        Tokens of the longest of them; positions beyond `mean` are left out.
    """

    mean: Floats
    count: NDArray[np.int64]
    sentences: int
    longest: int


@cached
def position_means(corpus: Corpus, layer: int, head: int) -> PositionMeans:
    """Means over the first sentences of the corpus."""
    starts, sizes = (corpus.sentences[name].values[:SENTENCES].astype(np.int64) for name in ("row_start", "row_size"))
    stop = int((starts + sizes).max())
    query, key = (array.variable[layer, head, :stop].values.astype(np.float32) for array in (corpus.query, corpus.key))
    total = np.zeros((min(POSITIONS, int(sizes.max())),) * 2)
    for batch in _batches(sizes):
        _add(total, query, key, starts[batch], sizes[batch])
    count = _sentences_with_both(sizes, len(total))
    return PositionMeans(total / count, count, len(sizes), int(sizes.max()))


def position_table(corpus: Corpus, layer: int, head: int) -> Table:
    """A row for each pair of positions: the mean weight, and how many sentences have both."""
    means = position_means(corpus, layer, head)
    query, key = np.indices(means.mean.shape).reshape(2, -1)
    return {
        "query_position": query,
        "key_position": key,
        "weight": np.array(significant(means.mean.ravel().tolist())),
        "sentences": means.count.ravel(),
    }


def _batches(sizes: Rows) -> Iterator[Rows]:
    """Sentences of similar length together, the shortest first, so that there is little padding."""
    order = np.argsort(sizes, kind="stable")
    while len(order):
        # The last of a batch is the longest: as many as fit at that length.
        fit = np.arange(1, len(order) + 1) * sizes[order] <= TOKENS
        count = max(1, int(fit.sum()))
        yield order[:count]
        order = order[count:]


def _add(total: Floats, query: NDArray[np.float32], key: NDArray[np.float32], starts: Rows, sizes: Rows) -> None:
    """Add the sum of the patterns of some sentences, up to the last counted position."""
    offset = np.arange(int(sizes.max()))
    real = offset < sizes[:, None]
    rows = starts[:, None] + np.minimum(offset, sizes[:, None] - 1)
    counted = real[:, : len(total)]
    pattern = attention_pattern(query[rows[:, : len(total)]], key[rows], real)
    sums = np.einsum("sqk,sq->qk", pattern[..., : len(total)], counted.astype(np.float32))
    total[: len(sums), : len(sums)] += sums


def _sentences_with_both(sizes: Rows, positions: int) -> NDArray[np.int64]:
    """Sentences longer than both positions: (query_position, key_position)."""
    longer = (sizes[:, None] > np.arange(positions)).sum(axis=0)
    return np.minimum.outer(longer, longer)


@dataclass(frozen=True)
class ShownMeans:
    """The means of a head: its name, in words what they are over, and the URL of their numbers."""

    means: PositionMeans
    name: str
    over: str
    csv: str


def read_positions(corpus: Corpus, layer: int, head: int) -> ShownMeans:
    """Those of a head."""
    means = position_means(corpus, layer, head)
    over = f"Mean weight over the first {means.sentences:,} of {all_of(corpus, 'sentence')}"
    return ShownMeans(
        means, head_name(layer, head), over, file_href(data_link(corpus), f"positions/{layer}/{head}.csv")
    )


def positions(shown: ShownMeans, *, beside_matrix: bool) -> list[object]:
    """The mean pattern of a head as a heat map; `beside_matrix`: a sentence's matrix is shown beside it."""
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
