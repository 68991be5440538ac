"""Pages Heads and Head: queries and keys of every head, one panel each; and of one head, with tabs beside the picture."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.canvas.spec import Picture, grid_tokens
from dashboard.notes.listing import note_panel, noted_legend
from dashboard.notes.target import HeadTarget
from dashboard.points import clicked_point as point
from dashboard.points import distance, pairs
from dashboard.points import selection_summary as selection
from dashboard.points.arrangement import arrangement, arrangement_controls, nothing_shown
from dashboard.points.captions import (
    fidelity_caption,
    head_fidelity_caption,
    marks_legend,
    sample_caption,
    scale_caption,
)
from dashboard.points.controls import around_picture
from dashboard.points.density import Cluster, clusters_of_head
from dashboard.points.picture import ShownPoints, grid_picture, is_plane, picture_with_pinned, pin_links, pinned_name
from dashboard.points.routes import register
from dashboard.points.search import hit_table
from dashboard.points.similar import SIMILAR
from dashboard.points.worked_example import example_card, example_link
from dashboard.topic import Topic
from dashboard.ui.controls import OF_DATA, info, neighbour
from dashboard.ui.deferred import deferred
from dashboard.ui.markup import file_links, heading
from dashboard.ui.page import Page, without_picture
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.paths import PageLinks
from dashboard.web.state import MOST_TOKENS, TABS, LinkState
from store.phrases import many
from store.schema.model import ROLES, head_name

#: Numbers of tokens to choose from.
TOKEN_CHOICES = (2_000, 20_000, 100_000, MOST_TOKENS)


def _notes_of_heads(context: Context, _points: ShownPoints) -> list[object]:
    """Notes on the shown head, and on the pinned one."""
    return [
        part
        for number, head in enumerate(context.state.shown_heads)
        for part in (
            html.H2(f"Notes on {head_name(*head)}"),
            note_panel(f"head-{number}", HeadTarget.of(context.corpus, *head), title=None),
        )
    ]


def _point_panel(context: Context, points: ShownPoints) -> list[object]:
    """The clicked point, and the tokens most similar to it."""
    return [*point.panel(context, points), *([] if context.state.token is None else [deferred(context, SIMILAR)])]


#: Pixels of the tabs where their reader has chosen no others (assets/points.css).
INSPECTOR = 440
#: Columns of the table of clusters; the last two are numbers.
CLUSTER_COLUMNS = ("cluster", "role", "points", "of its role")
_KEYS_OF_HEADS = (
    "The wheel zooms; Tab and the arrow keys move to a head, Enter opens it. Layers and heads count from 0: "
    f"{head_name(7, 9)} is head 8-10 of the papers."
)
_KEYS_OF_HEAD = (
    "The wheel, + and - zoom, drag moves (rotates in 3D), 0 resets; zooming out returns to all heads. Arrow keys open neighbouring "
    "heads; p, then Shift with arrow keys, steps through points."
)
Layout = Callable[[Context], list[object]]
#: Tab -> its title and layout, beside the tabs Statistics and Positions.
PANELS = {
    "point": ("Point", _point_panel),
    "selection": ("Selection", selection.panel),
    "pairs": ("Top pairs", pairs.panel),
    "distance": ("Distance", distance.panel),
    "notes": ("Notes", _notes_of_heads),
}


#: Titles of all tabs in their order.
_TITLES = {"statistics": "Statistics", "positions": "Positions", **{tab: title for tab, (title, _) in PANELS.items()}}
TITLES = {tab: _TITLES[tab] for tab in TABS}


def picture_of_heads(context: Context) -> Picture | None:
    """The picture of all heads; None before the first picture, and where no head passes the conditions of the link."""
    return grid_picture(context, _points_of_heads(context)) if context.corpus.views else None


def all_heads(context: Context) -> Page:
    """Page Heads."""
    corpus = context.corpus
    if not corpus.views:
        return without_picture(context, "Heads")
    points = _points_of_heads(context)
    shown = arrangement(corpus, context.state)
    above = [
        html.H1(f"Queries and keys of all {corpus.layers * corpus.heads} heads"),
        _how_to_read_heads(context, packed=shown.packed),
        *around_picture(context, points, arrangement_controls(context, shown), head=False),
        *example_card(context),
        *([] if shown.heads else [nothing_shown(context)]),
    ]
    tokens = points.drawn.tokens
    below = [
        sample_caption(context, tokens),
        fidelity_caption(corpus, context.view),
        file_links(
            data_link(context.corpus),
            "The drawn points of all heads",
            f"points/{context.view}/grid",
            {"tokens": str(tokens)},
        ),
        *hit_table(context, points.selection.q, points.hits),
    ]
    return Page(above=above, below=below, notices=points.notices)


def _how_to_read_heads(context: Context, *, packed: bool) -> html.P:
    order = ", the largest value first" if context.state.arranged else "" if packed else ": layers down, heads across"
    text = "A key near a query receives much of its attention. Click a head to open it. "
    about = info("the panels", f"One panel per head{order}. {_KEYS_OF_HEADS}")
    return html.P([text, *example_link(context), about], className="how-to-read")


def _points_of_heads(context: Context) -> ShownPoints:
    return ShownPoints.of(context, grid_tokens(context.corpus))


def picture_of_head(context: Context) -> Picture | None:
    """The picture of one head, and of the pinned one beside it."""
    return picture_with_pinned(context, _points_of_head(context)) if context.corpus.views else None


def one_head(context: Context, statistics: Layout, positions: Layout) -> Page:
    """Page Head, with the layouts of the tabs of other topics."""
    corpus, state = context.corpus, context.state
    name = head_name(state.layer, state.head)
    if not corpus.views:
        return without_picture(context, name)
    points = _points_of_head(context)
    above = [
        html.Div(
            [
                html.H1(f"Queries and keys of {name}{pinned_name(context)}"),
                _neighbours(context),
                _choices(context),
                pin_links(context),
            ],
            className="title-row",
        ),
        *around_picture(context, points, head=True),
        *_typed(context),
    ]
    return Page(
        above=above,
        beside=_beside(context, points, {"statistics": statistics, "positions": positions}),
        below=_below(context, points),
        notices=points.notices,
    )


def _points_of_head(context: Context) -> ShownPoints:
    state = context.state
    tokens = min(state.tokens, context.corpus.n_tokens)
    return ShownPoints.of(context, tokens, layer=state.layer, head=state.head)


def _below(context: Context, points: ShownPoints) -> list[object]:
    state, tokens = context.state, points.drawn.tokens
    path = f"points/{context.view}/{state.layer}/{state.head}"
    return [
        marks_legend(context, points),
        *_named_clusters(context, points),
        _how_to_read_head(),
        sample_caption(context, tokens),
        *scale_caption(context, points),
        *_fidelity(context),
        file_links(data_link(context.corpus), "The drawn points", path, {"tokens": str(tokens)}),
        *hit_table(context, points.selection.q, points.hits),
    ]


def _fidelity(context: Context) -> list[object]:
    """The fidelity of the picture; of two pictures that of each."""
    heads = context.state.shown_heads
    names = [f" of {head_name(*head)}" if len(heads) > 1 else "" for head in heads]
    return [
        head_fidelity_caption(context.corpus, context.view, *head, of=name)
        for head, name in zip(heads, names, strict=True)
    ]


def _beside(context: Context, points: ShownPoints, others: Mapping[str, Layout]) -> list[object]:
    """The tabs; only the layout of the open one is computed."""
    shown = tab_of(context.state)
    names = [dmc.TabsTab(title, value=tab) for tab, title in TITLES.items()]
    drawn = others[shown](context) if shown in others else PANELS[shown][1](context, points)
    panel = dmc.TabsPanel(drawn, value=shown, pt="sm")
    tabs = dmc.Tabs([dmc.TabsList(names), panel], id={"choose": "tab", "by": "tabs"}, value=shown)
    return [*_inspector_frame(), html.Div(tabs, className="inspector")]


def _inspector_frame() -> list[object]:
    """What makes the tabs wider, narrower, or leaves them out (assets/web/room.mjs)."""
    border: Any = {"aria-orientation": "vertical", "aria-label": "Border of the tabs", "aria-valuenow": INSPECTOR}
    turn: Any = {"aria-label": "Show or hide the tabs"}
    return [
        html.Div(role="separator", tabIndex=0, className="inspector-border", **border),
        html.Button("", type="button", className="inspector-turn", title="Show or hide the tabs", **turn),
    ]


def _named_clusters(context: Context, points: ShownPoints) -> list[html.Details]:
    """Where no name can be hovered, and for those without room: a table for each head, closed at first."""
    state = context.state
    if not (state.clusters and is_plane(context)):
        return []
    return [_clusters_of_head(context, points.drawn.tokens, *head) for head in state.shown_heads]


def _clusters_of_head(context: Context, tokens: int, layer: int, head: int) -> html.Details:
    found = clusters_of_head(context.corpus, context.view, tokens, layer, head)
    summary = html.Summary(f"{head_name(layer, head)}: {many(len(found), 'named cluster')}")
    body = html.Tbody([_cluster_row(cluster) for cluster in found])
    return html.Details(
        [summary, html.Table([heading(CLUSTER_COLUMNS, CLUSTER_COLUMNS[2:]), body], className="rows narrow")]
    )


def _cluster_row(cluster: Cluster) -> html.Tr:
    numbers = f"{cluster.points:,}", f"{100 * cluster.points / cluster.of:.1f}%"
    names = html.Td(html.Bdi(cluster.name)), html.Td(ROLES[cluster.role])
    return html.Tr([*names, *(html.Td(number, className="number") for number in numbers)])


def _typed(context: Context) -> list[object]:
    """A line on the typed sentence in the picture; nothing without one."""
    state = context.state
    if state.text is None or state.token is not None:
        return []
    name = html.Q(state.text, dir="auto")
    own = dcc.Link("open sentence", href=state.on("sentence").href)
    remove = dcc.Link("clear", href=state.with_(text=None, second=None).href)
    return [
        html.P(
            ["Your sentence ", name, " is shown with its strongest lines: ", own, ", ", remove, "."],
            className="caption",
        )
    ]


def _how_to_read_head() -> html.P:
    text = "Hover a point for its token and sentence, click it for its lines."
    return html.P([text, info("the picture", _KEYS_OF_HEAD), noted_legend()], className="caption")


def _neighbours(context: Context) -> html.Nav:
    """Links to the neighbouring heads; disabled at the ends of the model."""
    steps = (
        ("←", "previous head", 0, -1),
        ("→", "next head", 0, 1),
        ("↑", "previous layer", -1, 0),
        ("↓", "next layer", 1, 0),
    )
    links = [_neighbour(context, *step) for step in steps]
    return html.Nav(links, className="neighbours", **{"aria-label": "Neighbouring heads"})


def _neighbour(context: Context, arrow: str, direction: str, layers: int, heads: int) -> object:
    state = step(context.state, layers, heads, context.corpus.layers, context.corpus.heads)
    if state == context.state:
        return html.Span(arrow, className="neighbour", **{"aria-disabled": "true"})
    title = f"{direction}: {head_name(state.layer, state.head)}"
    return neighbour(arrow, title, state.with_(at=None).href)


def step(state: LinkState, layers: int, heads: int, last_layer: int, last_head: int) -> LinkState:
    """The state this many layers and heads further, within the model."""
    layer = max(0, min(state.layer + layers, last_layer - 1))
    head = max(0, min(state.head + heads, last_head - 1))
    return state.with_(layer=layer, head=head)


def _choices(context: Context) -> html.Div:
    """Choices of the head and of the number of tokens."""
    corpus, state = context.corpus, context.state
    options = [count for count in TOKEN_CHOICES if count < corpus.n_tokens]
    tokens = sorted({*options, min(corpus.n_tokens, TOKEN_CHOICES[-1]), min(state.tokens, corpus.n_tokens)})
    return html.Div(
        [
            _select("layer", "Layer", range(corpus.layers), state.layer, 80),
            _select("head", "Head", range(corpus.heads), state.head, 80),
            _select("tokens", "Tokens shown", tokens, min(state.tokens, corpus.n_tokens), 120),
        ],
        className="choices",
    )


def _select(field: str, label: str, values: range | list[int], value: int, width: int) -> dmc.Select:
    data = [{"value": str(option), "label": f"{option:,}"} for option in values]
    return dmc.Select(
        id={"choose": field, "by": "title"},
        label=label,
        data=data,
        value=str(value),
        size="xs",
        w=width,
        allowDeselect=False,
        **OF_DATA,
    )


def tab_of(state: LinkState) -> str:
    """The tab of the link; without one, the tab of the clicked point or of the selection."""
    if state.tab:
        return state.tab
    if state.token is not None:
        return "point"
    return "selection" if state.lasso or state.where else "statistics"


HEADS = Topic(
    name="heads",
    title="Heads",
    letter="h",
    docs="pictures.md",
    layout=all_heads,
    links=PageLinks(shows_fields=True),
    picture=picture_of_heads,
    routes=(register,),
)


def head_topic(statistics: Layout, positions: Layout) -> Topic:
    """Page Head; `statistics` and `positions` are the layouts of tabs that other topics have."""
    return Topic(
        name="head",
        title="Head",
        letter="d",
        docs="pictures.md",
        layout=partial(one_head, statistics=statistics, positions=positions),
        links=PageLinks(always=frozenset({"layer", "head"})),
        choices=lambda context: ({"tab": tab_of(context.state)} if context.corpus.views else {}, {}),
        picture=picture_of_head,
        deferred=(SIMILAR,),
    )
