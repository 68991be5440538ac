"""Accuracies of heads at relations: all heads at one relation (ranked and as a heat map), all relations by all heads, one head at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.relations.data import (
    BestHead,
    best_of,
    clear_gains,
    direction_titles,
    ends_of,
    links_of,
    shown_head,
    shown_relation,
)
from dashboard.relations.linked_sentences import (
    BestSentence,
    MostLinked,
    NamedKind,
    best_sentence,
    most_linked,
    read_best_sentence,
    read_most_linked,
    show_link,
)
from dashboard.roles.shares import RoleShares, known_shares, role_cells, role_titles
from dashboard.statistics.data import largest_first
from dashboard.ui.charts import (
    NOTE,
    QUIET,
    SERIES,
    SHARES,
    SYMBOLS,
    chart,
    colour_bar_above,
    error_bars,
    heat_map,
    heat_map_height,
    layout,
)
from dashboard.ui.controls import info
from dashboard.ui.glossary import term
from dashboard.ui.markup import file_href, file_links, scrolling, stacked_cells
from dashboard.ui.text import first_of, in_brackets, in_interval, signed, spell
from dashboard.ui.work import watched
from dashboard.web.http import data_link
from dashboard.web.state import LinkState
from store import Corpus
from store.kernels.relations import OFFSETS
from store.phrases import many
from store.schema.corpus import ALL
from store.schema.model import head_name

Floats = NDArray[np.float64]
_OFFSET = (
    f"The offset {{1}} − {{0}}, from {signed(OFFSETS[0], 0)} to {signed(OFFSETS[-1], 0)} words, that most pairs of the choosing half have: the "
    "accuracy of a baseline that ignores the model."
)
_RANDOM = (
    "The best head of the same network with random weights but the model's word and position embeddings, chosen and reported "
    "in the same way, over the first sentences of the corpus."
)
NO_PAIR = (
    "No pair in the reported half of the sentences, so no head has an accuracy. Choose another relation or pattern."
)
_NO_CHOICE = "No pair in the half of the sentences that chooses, so there is neither a best head nor a best offset."
#: Colour scale of cells with a clear gain; all other cells are grey.
FILLED = [(0, "#9CC7E6"), (0.5, "#3F8FC9"), (1, "#00223D")]
_QUIET_CELLS = [(0, "#E9ECEF"), (1, "#E9ECEF")]
_FILLED = (
    "Filled: the 95% interval of the head's accuracy, by bootstrap over sentences, lies above the accuracy of the best offset. All other "
    "heads, grey here, are not clearly better than words at a fixed distance, most are worse; hover a cell for its numbers."
)
#: Number of heads in the ranking.
RANKED = 8


@dataclass(frozen=True)
class Accuracies:
    """Accuracies of all heads at relations.

    Attributes
    ----------
    relation, direction
        The relation and the direction of the link.
    cell, cells
        Accuracies, intervals and baselines in this direction, in the form of `Corpus.relations`: at this relation, and at all
        relations of the store.
    head
        The head whose links are shown.
    best
        The best head of every relation.
    shares
        Roles of the heads; None in a store without roles.
    over
        The pairs that accuracies are counted from, in words.
    files
        The beginning of the URLs of the corpus' files.
    """

    relation: str
    direction: str
    cell: xr.Dataset
    cells: xr.Dataset
    head: tuple[int, int]
    best: tuple[BestHead, ...]
    shares: RoleShares | None
    over: str
    files: str

    @property
    def has_choice(self) -> bool:
        """Whether the half that chooses the best head has a pair."""
        return bool(self.cell.pairs[0] > 0)

    @property
    def is_reported(self) -> bool:
        """Whether the other half, which is reported, has a pair."""
        return bool(self.cell.pairs[1] > 0)


def read_accuracies(corpus: Corpus, state: LinkState, relation: str) -> Accuracies:
    """Accuracies at a relation in the direction of a link. NotIngested where the corpus has no relations."""
    return Accuracies(
        relation=relation,
        direction=state.direction,
        cell=links_of(corpus, relation).sel(direction=state.direction),
        cells=corpus.relations.sel(direction=state.direction),
        head=shown_head(corpus, state, relation),
        best=best_of(corpus),
        shares=known_shares(corpus),
        over=f"Pairs in every second one of {first_of(corpus, 'sentence')}",
        files=data_link(corpus),
    )


def relations_by_heads(relations: Sequence[str], gain: Floats, hover: list[list[str]], heads: int) -> go.Figure:
    """A heat map of the gain over the best offset in points (relation, head of all layers); grey where the gain is 0.

    Most heads fall far below the offset, and how far says little: only tooltips have these numbers.
    """
    columns = [head_name(*divmod(number, heads)) for number in range(gain.shape[1])]
    cells = {"x": columns, "y": list(relations), "xgap": 1, "ygap": 1}
    quiet: Any = go.Heatmap(z=np.zeros(gain.shape), colorscale=_QUIET_CELLS, showscale=False, hoverinfo="skip", **cells)
    heat: Any = go.Heatmap(
        z=np.where(gain > 0, 100 * gain, np.nan),
        hovertext=hover,
        customdata=[columns] * len(relations),
        hovertemplate="%{customdata}, %{y}: %{hovertext}<extra></extra>",
        colorscale=FILLED,
        zmin=0,
        zmax=max(1.0, 100 * float(gain.max())),
        colorbar=colour_bar_above("points above the best offset"),
        **cells,
    )
    across = {"side": "bottom", "type": "category", "tickangle": -90, "tickfont": {"size": NOTE}}
    down = {"autorange": "reversed", "dtick": 1, "type": "category"}
    figure = go.Figure([quiet, heat], layout(across, down, margin={"l": 84, "r": 4, "t": 48, "b": 48}))
    for first in range(heads, gain.shape[1], heads):
        figure.add_vline(x=first - 0.5, line={"color": QUIET, "width": 1})
    return figure


def relations_of_head(
    relations: Sequence[str], accuracy: Floats, between: Floats, offset: Floats, random: Floats, name: str
) -> go.Figure:
    """A chart of one head's accuracy by relation: bars with intervals (bound, relation), the best offset, the head with random weights."""
    bars: Any = go.Bar(
        x=list(relations),
        y=accuracy,
        error_y=error_bars(accuracy, between, QUIET),
        marker={"color": SERIES[0], "line": {"width": 0}},
        name=name,
        hovertemplate="%{x}: %{y:.1%}<extra></extra>",
    )
    beside = [("best offset", offset, SERIES[1], SYMBOLS[1]), ("same head, random weights", random, QUIET, SYMBOLS[4])]
    marks = [_marks(relations, *each) for each in beside]
    across = {"type": "category", "tickangle": -60}
    margin = {"l": 44, "r": 8, "t": 30, "b": 96}
    return go.Figure([bars, *marks], layout(across, SHARES, showlegend=True, bargap=0.25, margin=margin))


def _marks(relations: Sequence[str], name: str, values: Floats, colour: str, symbol: str) -> Any:
    return go.Scatter(
        x=list(relations),
        y=values,
        mode="markers",
        marker={"symbol": symbol, "size": 8, "color": colour, "line": {"width": 2, "color": colour}},
        name=name,
        hovertemplate=f"%{{x}}, {name}: %{{y:.1%}}<extra></extra>",
    )


@dataclass(frozen=True)
class HeadAtRelation:
    """A head at a relation: its accuracy with its interval, and the sentence in which it makes most links."""

    head: tuple[int, int]
    accuracy: float
    interval: tuple[float, float]
    best: BestSentence | None


@dataclass(frozen=True)
class RankedHeads:
    """The first heads at a relation, their roles where the store has roles, and the sentences of the shown head.

    `heads` is the number of all heads. `has_choice` is False where no pair ranks the heads.
    """

    relation: str
    has_choice: bool
    heads: int
    rows: list[HeadAtRelation]
    most: MostLinked
    shares: RoleShares | None


def read_ranked(corpus: Corpus, state: LinkState) -> RankedHeads:
    """The first heads at the relation of a link."""
    relation, _ = shown_relation(corpus, state.relation)
    kind = NamedKind(relation, state.direction)
    links = links_of(corpus, relation).sel(direction=kind.direction)
    rows = [_read_ranked_head(corpus, kind, links, *head) for head in watched(first_heads(links))]
    shown = shown_head(corpus, state, relation)
    most = read_most_linked(corpus, kind, *shown)
    has_choice, total = bool(links.pairs[0] > 0), corpus.layers * corpus.heads
    return RankedHeads(relation, has_choice, total, rows, most, known_shares(corpus))


def _read_ranked_head(corpus: Corpus, kind: NamedKind, links: xr.Dataset, layer: int, head: int) -> HeadAtRelation:
    own = links.isel(layer=layer, head=head)
    low, high = map(float, own.interval.values)
    best = read_best_sentence(corpus, kind, layer, head)
    return HeadAtRelation((layer, head), float(own.reported_accuracy), (low, high), best)


def ranked_heads(state: LinkState, ranked: RankedHeads) -> list[object]:
    """The first heads at the relation of the link, and the sentences of the shown one."""
    numbers = ("accuracy", "95% interval")
    titles = ("head", *role_titles(ranked.shares), *numbers, "most links in a sentence", "sentences")
    rows = [_ranked_row(state, row, ranked) for row in ranked.rows]
    table = stacked_cells(titles, rows, numbers)
    order = "ranked on one half of the sentences, accuracy in % on the other."
    if not ranked.has_choice:
        order = "accuracy in %. No pair in the half that chooses: heads are in the order of layers."
    return [
        html.P(f"The first {len(rows)} of {many(ranked.heads, 'head')}, {order}", className="caption"),
        scrolling(table, ranking_title(ranked.relation, has_choice=ranked.has_choice)),
        *most_linked(state, ranked.most),
    ]


def ranking_title(relation: str, *, has_choice: bool) -> str:
    """The title of the ranking; it says "at" a relation where no pair ranks the heads."""
    return f"Heads {'ranked by' if has_choice else 'at'} {'all relations' if relation == ALL else relation}"


def first_heads(links: xr.Dataset, count: int = RANKED) -> list[tuple[int, int]]:
    """The heads that link most pairs of the choosing half; `links` have one direction."""
    return largest_first(links.chosen_accuracy.values, count)


def _ranked_row(state: LinkState, row: HeadAtRelation, ranked: RankedHeads) -> list[html.Td]:
    head, accuracy, (low, high) = row.head, row.accuracy, row.interval
    page = state.on("head").with_(layer=head[0], head=head[1])
    return [
        html.Td(dcc.Link(head_name(*head), href=page.href)),
        *role_cells(ranked.shares, *head),
        html.Td("" if accuracy != accuracy else f"{100 * accuracy:.1f}", className="number"),
        html.Td("" if low != low else f"{100 * low:.1f} to {100 * high:.1f}", className="number"),
        best_sentence(state, row.best, head),
        show_link(state, head, ranked.most.head),
    ]


def heads_at_relation(shown: Accuracies) -> list[object]:
    """The heat map of all heads at the relation of the link; where the reported half has no such pair, what to do."""
    relation, cell = shown.relation, shown.cell
    title = html.H2(
        [
            *_heading(relation),
            f": {direction_titles(relation)[shown.direction]}",
            info("the best offset", _OFFSET.format(*ends_of(relation))),
        ]
    )
    if not shown.is_reported:
        return [title, html.P(NO_PAIR, className="caption")]
    accuracy: Floats = cell.reported_accuracy.values
    low, high = cell.interval.values
    layers, heads = accuracy.shape
    best = f"best offset {spell(float(cell.offset_accuracy), 'share')} ({signed(int(cell.offset), 0)})"
    beside = [best] if shown.has_choice else []
    hover = [
        [
            ", ".join([f"{spell(accuracy[head], 'share')}{in_interval(100 * low[head], 100 * high[head])}", *beside])
            for head in ((layer, number) for number in range(heads))
        ]
        for layer in range(layers)
    ]
    pairs = many(int(cell.pairs[1]), "pair")
    written = [[f"{100 * value:.0f}" if value == value else "" for value in row] for row in accuracy]
    return [
        title,
        html.P(_beyond_offset(shown)),
        *chart(
            heat_map(accuracy, written=written, hover=hover, unit="%"),
            name="heat-map",
            caption=f"{'; '.join([f'Accuracy in %, n = {pairs}', *beside])}. Click a cell to open the head. ",
            label=f"Heat map of {layers} by {heads} heads: accuracy at {relation}",
            of=shown.over,
            data=file_href(shown.files, "relation.csv", {"relation": relation, "direction": shown.direction}),
            height=heat_map_height(layers),
            opens=True,
            turns=True,
        ),
    ]


def _beyond_offset(shown: Accuracies) -> list[object] | None:
    """Whether the shown head links more pairs than a fixed offset, as a sentence; None without an accuracy; a remark if no pair chooses."""
    if not shown.has_choice:
        return [_NO_CHOICE]
    own = shown.cell.isel(layer=shown.head[0], head=shown.head[1])
    accuracy, offset = float(own.reported_accuracy), float(own.offset_accuracy)
    low, high = map(float, own.interval.values)
    if np.isnan((accuracy, low, offset)).any():
        return None
    than = "more than" if low > offset else "less than" if high < offset else "not clearly more than"
    words = f"{signed(int(own.offset), 0)} {'word' if abs(int(own.offset)) == 1 else 'words'}"
    return [
        html.Strong(f"{head_name(*shown.head)} links {spell(accuracy, 'share')}"),
        f" of the pairs ({100 * low:.1f} to {100 * high:.1f}), {than} a fixed ",
        term("offset"),
        f" of {words} ({spell(offset, 'share')}).",
    ]


def _heading(relation: str) -> list[object]:
    """The heading of a relation: its label and its name in words."""
    return ["All relations"] if relation == ALL else [html.Bdi(relation), in_brackets(relation)]


def best_of_relations(state: LinkState, shown: Accuracies) -> list[object]:
    """The table of the best head of each relation, beside baselines."""
    roles = role_titles(shown.shares)
    numbers = ("accuracy", "95% interval", "best offset", "best random head", "pairs")
    titles = ("relation", "head", *roles, "direction", *numbers)
    table = stacked_cells(titles, [_best_row(state, row, shown.shares) for row in shown.best], numbers)
    return [
        html.H2(["The best head of each relation", info("the best random head", _RANDOM)]),
        html.P("Chosen on one half of the sentences; shares, in %, and pairs are of the other.", className="caption"),
        scrolling(table, "The best head of each relation"),
        file_links(shown.files, "Best heads", "best-heads"),
    ]


def _best_row(link: LinkState, row: BestHead, shares: RoleShares | None) -> list[html.Td]:
    state = link.with_(relation=row.relation, direction=row.direction, examples="best")
    head = link.on("head").with_(layer=row.layer, head=row.head)
    low, high = row.interval
    chosen = [
        html.Td(dcc.Link(head_name(row.layer, row.head), href=head.href)),
        *role_cells(shares, row.layer, row.head),
        html.Td(direction_titles(row.relation)[row.direction]),
    ]
    none = [html.Td("none can be chosen"), *(html.Td() for _ in chosen[1:])]
    numbers = [
        f"{100 * row.accuracy:.1f}" if row.pairs and row.is_chosen else "",
        f"{100 * low:.1f} to {100 * high:.1f}" if low == low and row.is_chosen else "",
        f"{100 * row.offset_accuracy:.1f} ({signed(row.offset, 0)})" if row.pairs and row.is_chosen else "",
        f"{100 * row.random:.1f}" if row.random == row.random else "",
        f"{row.pairs:,}",
    ]
    return [
        html.Td([dcc.Link(html.Bdi(row.relation), href=state.href), in_brackets(row.relation)]),
        *(chosen if row.is_chosen else none),
        *(html.Td(number, className="number") for number in numbers),
    ]


def all_relations(shown: Accuracies) -> list[object]:
    """The heat map of every relation by every head, in the direction of the link."""
    cells = shown.cells
    names = list(map(str, cells.relation.values))
    accuracy: Floats = cells.reported_accuracy.values.reshape(len(names), -1)
    above = accuracy - cells.offset_accuracy.values[:, None]
    low, high = cells.interval.transpose("bound", "relation", "layer", "head").values.reshape(2, len(names), -1)
    hover = [
        [
            f"{100 * accuracy[cell]:.1f}%{in_interval(100 * low[cell], 100 * high[cell])}, {_points(above[cell])}"
            for cell in ((row, column) for column in range(accuracy.shape[1]))
        ]
        for row in range(len(names))
    ]
    return [
        html.H2(
            [f"All relations by all heads: {direction_titles()[shown.direction]}", info("the filled cells", _FILLED)]
        ),
        *chart(
            relations_by_heads(names, clear_gains(cells).reshape(above.shape), hover, cells.sizes["head"]),
            name="relations",
            caption="Filled: all of the head's interval is above the best offset; all other heads are grey. Click a cell to open the head. ",
            label=f"Accuracy of {accuracy.shape[1]} heads at {len(names)} relations above the best offset",
            of=shown.over,
            data=file_href(shown.files, "relations.csv"),
            height=100 + 18 * len(names),
            opens=True,
            turns=True,
        ),
    ]


def _points(above: float) -> str:
    """The gain of a head over the best offset in points; "no best offset" where no pair chooses one."""
    return f"{signed(100 * above, 1)} points" if above == above else "no best offset"


def head_at_relations(shown: Accuracies) -> list[object]:
    """The chart of the shown head at every relation."""
    layer, head = shown.head
    cells, name = shown.cells.sel(layer=layer, head=head), head_name(layer, head)
    figure = relations_of_head(
        list(map(str, cells.relation.values)),
        cells.reported_accuracy.values,
        cells.interval.values,
        cells.offset_accuracy.values,
        cells.random_accuracy.values,
        name,
    )
    return [
        html.H2(f"{name} at every relation"),
        *chart(
            figure,
            name="profile",
            caption=f"{direction_titles()[shown.direction].capitalize()}; a bar has its 95% interval; crosses are the same head with random weights. ",
            label=f"Accuracy of {name} at every relation",
            of=shown.over,
            height=320,
        ),
    ]
