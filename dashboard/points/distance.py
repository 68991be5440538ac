"""Vectors of a head after a normalisation: the places of new tokens in a picture, and the tab Distance.

New tokens are placed by the method that placed the tokens of the corpus. The tab shows distance and dot product of many pairs, before
and after a normalisation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from dash import html
from numpy.typing import NDArray

from dashboard.points.shown import ShownPoints
from dashboard.ui.charts import DENSITY, chart, colour_bar, layout
from dashboard.ui.controls import info, normalization_info
from dashboard.ui.files import Table
from dashboard.ui.markup import Unmade, file_href, heading, unmade_line
from dashboard.ui.text import capital, decimal
from dashboard.web.http import data_link
from dashboard.web.results import cached
from store import Corpus, StoreError
from store.kernels.projection import NEIGHBOURS, normalized, place, place_by_neighbours, place_by_network, unit
from store.phrases import many
from store.repository.errors import NotIngested
from store.schema.model import ROLES
from store.schema.pictures import PARAMETERS, RAW, ViewName

Vectors = NDArray[np.floating]
_MEASURES = (
    "Correlations of the dot product q·k with distance; −1 would be perfect. Linear: Pearson's, of the shown pairs, Euclidean distance. "
    "Near-pair: AttentionViz's, weighted to the nearest pairs. Rank: Spearman's, per query, of cosine distance, on held-out sentences."
)
_CONSTANTS = "Queries are multiplied by c; keys are divided by c and shifted by the vector a. Attention is unchanged."
#: Number of pairs, and cells of the histogram in each direction.
PAIRS, CELLS = 60_000, 60
Floats = NDArray[np.float64]
#: The normalisation that the tab compares with raw vectors where the picture itself is of raw vectors.
OTHER = "exact"


def normalized_vectors(
    corpus: Corpus, normalization: str, query: NDArray[Any], key: NDArray[Any], *, layer: int, head: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Queries and keys of a head with the stored constants: (token, channel [+ 1]) each, from (token, channel)."""
    if normalization == RAW:
        return query, key
    constants = corpus.normalizations.sel(normalization=normalization).isel(layer=layer, head=head)
    scale, shift, radius = (constants[name].values for name in ("scale", "shift", "radius"))
    moved: tuple[NDArray[Any], NDArray[Any]] = normalized(
        query, key, scale=scale, shift=shift, radius=None if np.isnan(radius) else radius
    )
    return moved


def place_vectors(
    corpus: Corpus, view: str, query: Vectors, key: Vectors, *, layer: int, head: int
) -> NDArray[np.float32]:
    """Positions (token, role, component) of a head's vectors (token, channel) in the view's cube, 0 to 1 on every axis.

    Positions outside the cube are moved to its border.
    """
    opened = corpus.view(view).isel(layer=layer, head=head)  # first: an unknown view is named in the error
    name = ViewName.parse(view)
    vectors = normalized_vectors(corpus, name.normalization, query, key, layer=layer, head=head)
    by_projection = {"pca": _by_pca, "attention": _by_network}
    if name.projection in by_projection:
        places = by_projection[name.projection](opened, *vectors)
    else:
        places = _by_neighbours(opened, vectors, _fitted_points(corpus, name.normalization, opened, layer, head))
    within = (places - opened.low.values) / float(opened.side)
    return np.clip(np.moveaxis(within, 0, 1), 0, 1).astype(np.float32)


def _by_pca(opened: xr.Dataset, query: Vectors, key: Vectors) -> Vectors:
    mean, axes = opened["mean"].values, opened["components"].values
    return np.stack([place(unit(vectors), mean, axes) for vectors in (query, key)])


def _by_network(opened: xr.Dataset, query: Vectors, key: Vectors) -> Vectors:
    # A store of an earlier version has no middle layer.
    weights: dict[str, Any] = {name: opened[name].values for name in PARAMETERS["attention"] if name in opened}
    own = [{name: array[role] for name, array in weights.items()} for role in range(len(ROLES))]
    return np.stack(
        [place_by_network(vectors, **parameters) for vectors, parameters in zip((query, key), own, strict=True)]
    )


def _by_neighbours(opened: xr.Dataset, vectors: tuple[Vectors, Vectors], fitted: Vectors) -> Vectors:
    """Positions of vectors: each is the mean position of its nearest fitted points, by cosine."""
    cosine = unit(np.stack(vectors)) @ fitted.T
    nearest = np.argsort(-cosine, axis=-1)[..., :NEIGHBOURS]
    square = np.clip(2 - 2 * np.take_along_axis(cosine, nearest, -1), 0, None)
    places = opened["fitted"].values.reshape(len(fitted), -1)
    placed: Vectors = place_by_neighbours(square, places[nearest])
    return placed


def _fitted_points(corpus: Corpus, normalization: str, opened: xr.Dataset, layer: int, head: int) -> Vectors:
    """Unit vectors of the fitted queries, then of the fitted keys: (point, feature)."""
    rows = corpus.rows[: opened.sizes["sample"]]
    query, key = (
        array.variable[layer, head, : int(rows[-1]) + 1].values[rows].astype(np.float32)
        for array in (corpus.query, corpus.key)
    )
    return np.concatenate(
        [unit(vectors) for vectors in normalized_vectors(corpus, normalization, query, key, layer=layer, head=head)]
    )


@dataclass(frozen=True)
class Agreement:
    """Correlations of q.k and distance; -1 is best, NaN where there are too few pairs or all are equal.

    `pearson` uses the shown pairs and Euclidean distance. `weighted` favours the nearest pairs. `spearman` uses cosine distance,
    query by query. The store has the last two, on held-out sentences.
    """

    pearson: float
    weighted: float
    spearman: float


@dataclass(frozen=True)
class Density:
    """Pairs of queries and keys of the same sentence by q.k and by Euclidean distance after a normalisation.

    Attributes
    ----------
    counts
        Pairs in each cell: (dot product, distance).
    dots, distances
        Borders of the cells: (CELLS + 1,) each.
    pairs, sentences
        Number of pairs, and number of sentences, from the first, that have them.
    agreement
        Correlations after the normalisation.
    """

    counts: NDArray[np.int64]
    dots: Floats
    distances: Floats
    pairs: int
    sentences: int
    agreement: Agreement


@cached
def density(corpus: Corpus, *, layer: int, head: int, normalization: str, most: int = PAIRS) -> Density:
    """The density of at most `most` pairs of one head; q.k is of the raw vectors, from which attention is computed."""
    known = corpus.normalizations.normalization.values.tolist()
    if normalization not in known:
        raise StoreError(f"There is no normalisation {normalization[:40]!r}. Choose one of {', '.join(known)}.")
    query_row, key_row, sentences = _pairs(corpus, most)
    stop = int(max(query_row.max(), key_row.max())) + 1
    query, key = (array.variable[layer, head, :stop].values.astype(np.float64) for array in (corpus.query, corpus.key))
    dot = np.einsum("pc,pc->p", query[query_row], key[key_row])
    distance = _distance(
        *normalized_vectors(corpus, normalization, query, key, layer=layer, head=head), query_row, key_row
    )
    counts, dots, distances = np.histogram2d(dot, distance, bins=CELLS)
    return Density(
        counts=counts.astype(np.int64),
        dots=dots,
        distances=distances,
        pairs=len(dot),
        sentences=sentences,
        agreement=_agreement(corpus, layer, head, normalization, dot, distance),
    )


def density_table(density: Density) -> Table:
    """A row for each cell: its borders, and its number of pairs."""
    dot, distance = np.indices(density.counts.shape).reshape(2, -1)
    dots, distances = density.dots.round(6), density.distances.round(6)
    return {
        "dot_from": dots[dot],
        "dot_to": dots[dot + 1],
        "distance_from": distances[distance],
        "distance_to": distances[distance + 1],
        "pairs": density.counts.ravel(),
    }


def _pairs(corpus: Corpus, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Rows of queries and of keys of all pairs of the first sentences, at most `most` pairs; and the number of sentences."""
    sizes = corpus.sentences.row_size.values.astype(np.int64)
    sentences = max(1, int(np.searchsorted(np.cumsum(sizes**2), most, side="right")))
    starts = corpus.sentences.row_start.values
    each = [
        np.indices((size, size)).reshape(2, -1) + start
        for start, size in zip(starts[:sentences], sizes[:sentences], strict=True)
    ]
    query, key = np.concatenate(each, axis=1)[:, :most]  # one sentence alone may have more
    return query, key, sentences


def _distance(query: Floats, key: Floats, query_row: NDArray[np.int64], key_row: NDArray[np.int64]) -> Floats:
    distance: Floats = np.linalg.norm(query[query_row] - key[key_row], axis=-1)
    return distance


def _agreement(corpus: Corpus, layer: int, head: int, normalization: str, dot: Floats, distance: Floats) -> Agreement:
    stored = corpus.normalizations.sel(normalization=normalization).isel(layer=layer, head=head)
    varied = dot.std() > 0 and distance.std() > 0
    return Agreement(
        pearson=float(np.corrcoef(dot, distance)[0, 1]) if varied else float("nan"),
        weighted=float(stored.weighted_correlation),
        spearman=float(stored.spearman),
    )


def panel(shown: ShownPoints) -> list[object]:
    """The tab Distance."""
    state, of_picture = shown.state, ViewName.parse(shown.view).normalization
    after = OTHER if of_picture == RAW else of_picture
    title = html.H2(["Distance and dot product", info("these correlations", _MEASURES)])
    try:
        densities = {
            name: density(shown.corpus, layer=state.layer, head=state.head, normalization=name) for name in (RAW, after)
        }
    except NotIngested as error:
        return [title, unmade_line(Unmade.of(error, shown.ingest))]
    titles = {RAW: "Before: raw vectors", after: f"After normalisation: {after}"}
    return [
        title,
        *[part for name, pairs in densities.items() for part in _chart(shown, name, titles[name], pairs)],
        _constants(shown),
    ]


def _chart(shown: ShownPoints, name: str, title: str, pairs: Density) -> list[object]:
    state = shown.state
    data = file_href(data_link(shown.corpus), f"density/{name}/{state.layer}/{state.head}.csv")
    over = f"{many(pairs.pairs, 'pair')} of the first {many(pairs.sentences, 'sentence')}"
    caption = f"{over}. {_correlations(pairs.agreement)} "
    return [
        html.H3([title, normalization_info(name)]),
        *chart(
            density_figure(pairs),
            name=f"density-{name}",
            caption=caption,
            label=title,
            of=over,
            data=data,
            height=230,
            turns=True,
        ),
    ]


def _correlations(agreement: Agreement) -> str:
    """The known correlations in words; empty where none is known."""
    shown = _known({"linear correlation": agreement.pearson})
    held_out = _known({"near-pair correlation": agreement.weighted, "rank correlation": agreement.spearman})
    parts = [*shown, *([f"on held-out sentences {', '.join(held_out)}"] if held_out else [])]
    return capital(f"{'; '.join(parts)}.") if parts else ""


def _known(numbers: Mapping[str, float]) -> list[str]:
    """The numbers after their names; NaN is left out."""
    return [f"{name} {decimal(number)}" for name, number in numbers.items() if number == number]


def density_figure(density: Density) -> go.Figure:
    """The number of pairs by dot product and distance, on a logarithmic colour scale."""
    counts = np.where(density.counts > 0, np.log10(np.maximum(density.counts, 1)), np.nan)
    heat: Any = go.Heatmap(
        x=(density.dots[1:] + density.dots[:-1]) / 2,
        y=(density.distances[1:] + density.distances[:-1]) / 2,
        z=counts.T,
        customdata=density.counts.T,
        colorscale=DENSITY,
        colorbar=_counts_bar(int(density.counts.max(initial=1))),
        hovertemplate="q·k %{x:.2f}, distance %{y:.2f}: %{customdata} pairs<extra></extra>",
    )
    margin, font = {"l": 48, "r": 8, "t": 6, "b": 38}, {"size": 11}
    across, down = {"title": "dot product q·k"}, {"title": "distance"}
    return go.Figure(heat, layout(across, down, zooms=True, margin=margin, font=font))


def _counts_bar(most: int) -> dict[str, Any]:
    """The colour bar of numbers of pairs: its logarithmic scale has ticks at 1, 10, 100 and so on."""
    powers = range(len(str(most)))
    ticks = {"tickvals": list(powers), "ticktext": [f"{10**power:,}" for power in powers]}
    return colour_bar("pairs") | ticks


def _constants(shown: ShownPoints) -> html.Div:
    """The constants of every normalisation of this head, and the correlations after it."""
    constants = shown.corpus.normalizations.isel(layer=shown.state.layer, head=shown.state.head)
    rows = []
    for name in map(str, constants.normalization.values):
        stored = constants.sel(normalization=name)
        shift = float(np.linalg.norm(stored["shift"].values))
        numbers = (float(stored.scale), shift, float(stored.weighted_correlation), float(stored.spearman))
        cells = [html.Td("" if number != number else decimal(number), className="number") for number in numbers]
        rows.append(html.Tr([html.Td([name, normalization_info(name)]), *cells]))
    names = ("normalisation", "c", "|a|", "near-pair", "rank")
    head = heading(names, names[1:])
    judged_on = shown.corpus.normalizations.attrs["judged_on"]
    return html.Div(
        [
            html.H3(["All normalisations of this head", info("the constants", _CONSTANTS)]),
            html.Table([head, html.Tbody(rows)], className="rows"),
            html.P(f"Correlations on {judged_on}; −1 would be perfect.", className="caption"),
        ]
    )
