"""Pages Heads and Head: queries and keys of every head, a panel for each head; and of one head, with tabs beside the picture."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html

from dashboard.canvas.spec import Picture, grid_tokens
from dashboard.notes.listing import note_panel, noted_legend
from dashboard.notes.target import HeadTarget
from dashboard.points import clicked_point as point
from dashboard.points import distance, pairs
from dashboard.points.arrangement import arrangement, arrangement_controls, nothing_shown
from dashboard.points.controls import (
    around_picture,
    fidelity_caption,
    head_fidelity_caption,
    marks_legend,
    sample_caption,
    scale_caption,
)
from dashboard.points.density import Cluster, clusters_of_head
from dashboard.points.head_tokens import HeadTokens
from dashboard.points.pairs import WorkedExample, example_button, example_card, worked_example
from dashboard.points.picture import (
    grid_picture,
    is_plane,
    picture_with_pinned,
    pin_links,
    pinned_name,
)
from dashboard.points.routes import register
from dashboard.points.search import hit_table
from dashboard.points.shown import ShownPoints, selection_panel
from dashboard.points.similar import SIMILAR
from dashboard.roles.dictionary import DICTIONARY
from dashboard.roles.dictionary import register as register_role_files
from dashboard.roles.evidence import EVIDENCE, WORDPIECES, asks_of_all
from dashboard.roles.head_roles import has_roles, shares_of_head, what_it_does
from dashboard.roles.panel import read_role_panel, role_panel
from dashboard.roles.shares import known_shares
from dashboard.topic import Choices, Topic, read_then_draw
from dashboard.ui.controls import OF_DATA, info, neighbour
from dashboard.ui.deferred import DeferredPart, deferred
from dashboard.ui.glossary import term
from dashboard.ui.markup import Page, file_links, heading, without_picture
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.paths import PageLinks
from dashboard.web.state import MOST_TOKENS, TABS, LinkState
from store import Corpus
from store.kernels.roles import UNEXPLAINED
from store.phrases import many
from store.repository.ingest_status import IngestProgress
from store.schema.model import ROLES, head_name

#: Numbers of tokens to choose from.
TOKEN_CHOICES = (2_000, 20_000, 100_000, MOST_TOKENS)
#: Default width of the tabs in pixels (assets/points.css).
INSPECTOR = 440
#: Columns of the table of clusters; the last two are numbers.
CLUSTER_COLUMNS = ("cluster", "role", "points", "of its role")
_KEYS_OF_HEADS = (
    "The wheel zooms; Tab and the arrow keys move to a head, Enter opens it. We count from 0: "
    f"our {head_name(7, 9)} is “head 8-10” in Clark et al."
)
_KEYS_OF_HEAD = (
    "The wheel, + and - zoom, drag moves (rotates in 3D), 0 resets; zooming out returns to all heads. Arrow keys open neighbouring "
    "heads; p, then Shift with arrow keys, steps through points."
)
#: A function that draws a tab of page Head.
Panel = Callable[[ShownPoints], list[object]]


def _notes_of_heads(shown: ShownPoints) -> list[object]:
    """Notes on the shown head, and on the pinned one."""
    return [
        part
        for number, head in enumerate(shown.state.shown_heads)
        for part in (
            html.H2(f"Notes on {head_name(*head)}"),
            note_panel(f"head-{number}", HeadTarget.of(shown.corpus, *head), title=None),
        )
    ]


#: Tab -> its title and its function, without the tabs Role, Statistics and Positions.
PANELS: dict[str, tuple[str, Panel]] = {
    "point": ("Point", point.panel),
    "selection": ("Selection", selection_panel),
    "pairs": ("Top pairs", pairs.panel),
    "distance": ("Distance", distance.panel),
    "notes": ("Notes", _notes_of_heads),
}
#: Titles of all tabs in their order.
_TITLES = {
    "role": "Role",
    "statistics": "Statistics",
    "positions": "Positions",
    **{tab: title for tab, (title, _) in PANELS.items()},
}
TITLES = {tab: _TITLES[tab] for tab in TABS}


@dataclass(frozen=True)
class NoPicture:
    """A page of a model that has no picture yet; `ingest` is the running ingest, which may make the picture."""

    title: str
    ingest: IngestProgress | None


def read_heads(context: Context) -> ShownPoints | NoPicture:
    """What page Heads shows: the drawn tokens of every head."""
    if not context.corpus.views:
        return NoPicture("Heads", context.ingest)
    return ShownPoints.of(context, HeadTokens(context.corpus, grid_tokens(context.corpus)))


def picture_of_heads(shown: ShownPoints | NoPicture) -> Picture | None:
    """The picture of all heads; None before the first picture, and where no head passes the conditions of the link."""
    return None if isinstance(shown, NoPicture) else grid_picture(shown)


def all_heads(shown: ShownPoints | NoPicture) -> Page:
    """Page Heads."""
    if isinstance(shown, NoPicture):
        return without_picture(shown.ingest, shown.title)
    return draw_heads(shown, worked_example(shown.corpus, shown.view))


def draw_heads(shown: ShownPoints, example: WorkedExample | None) -> Page:
    """Page Heads around the picture, with a worked example where there is one."""
    corpus, state = shown.corpus, shown.state
    heads = arrangement(corpus, state)
    above = [
        html.H1(f"Queries and keys of all {corpus.layers * corpus.heads} heads"),
        _how_to_read_heads(state, packed=heads.packed, example=example),
        *around_picture(shown, arrangement_controls(corpus, state, heads), head=False),
        *([] if heads.heads else [nothing_shown(state)]),
    ]
    below = [
        sample_caption(shown),
        fidelity_caption(corpus, shown.view),
        file_links(
            data_link(corpus),
            "The drawn points of all heads",
            f"points/{shown.view}/grid",
            {"tokens": str(shown.tokens)},
        ),
        *hit_table(corpus, state, shown.selection.q, shown.hits),
    ]
    card = [example_card(shown, example)] if example else []
    return Page(above=above, beside=card, below=below, notices=shown.notices)


def _how_to_read_heads(state: LinkState, *, packed: bool, example: WorkedExample | None) -> html.P:
    order = ", the largest value first" if state.arranged else "" if packed else ": layers down, heads across"
    text = ["A ", term("key"), " near a ", term("query"), " receives much of its attention. Click a head to open it. "]
    about = info("the panels", f"One panel per head{order}. {_KEYS_OF_HEADS}")
    return html.P([*text, *([example_button()] if example else []), about], className="how-to-read")


@dataclass(frozen=True)
class EndOfRole:
    """The end of tab Role, by a topic above this one: a deferred part, whether a link asks for it, and what draws it."""

    part: DeferredPart
    is_asked: Callable[[Corpus, LinkState], bool]
    draw: Callable[[ShownPoints, html.Div | None], list[object]]


@dataclass(frozen=True)
class HeadPage:
    """What page Head shows: the head's points, the open tab, and the deferred parts of this tab by their names."""

    shown: ShownPoints
    tab: str
    later: Mapping[str, html.Div]


def read_head(context: Context, end_of_role: EndOfRole) -> HeadPage | NoPicture:
    """What page Head shows at a link, see `HeadPage`."""
    corpus, state = context.corpus, context.state
    if not corpus.views:
        return NoPicture(head_name(state.layer, state.head), context.ingest)
    points = HeadTokens(corpus, min(state.tokens, corpus.n_tokens), state.layer, state.head)
    tab = tab_of(corpus, state)
    parts = _parts_of_tab(tab, corpus, state, end_of_role)
    return HeadPage(ShownPoints.of(context, points), tab, {part.name: deferred(context, part) for part in parts})


def _parts_of_tab(tab: str, corpus: Corpus, state: LinkState, end_of_role: EndOfRole) -> list[DeferredPart]:
    """Deferred parts of a tab: of tab Role its evidence, dictionary and end; of tab Point the most similar tokens."""
    if tab == "role":
        end = [end_of_role.part] if end_of_role.is_asked(corpus, state) else []
        return [*_parts_of_role(corpus, state), *end]
    return [SIMILAR] if tab == "point" and state.token is not None else []


def _parts_of_role(corpus: Corpus, state: LinkState) -> list[DeferredPart]:
    """Deferred parts of tab Role: evidence, wordpieces and dictionary; none where the roles of the head are unknown."""
    if not has_roles(corpus) or np.isnan(shares_of_head(corpus, state.layer, state.head)[UNEXPLAINED]):
        return []
    return [EVIDENCE, *([WORDPIECES] if asks_of_all(state) else []), DICTIONARY]


def picture_of_head(page: HeadPage | NoPicture) -> Picture | None:
    """The picture of one head, and of the pinned one beside it."""
    return None if isinstance(page, NoPicture) else picture_with_pinned(page.shown)


def one_head(page: HeadPage | NoPicture, end_of_role: EndOfRole, others: Mapping[str, Panel]) -> Page:
    """Page Head. Only the open tab is drawn; `others` draw the tabs of other topics."""
    if isinstance(page, NoPicture):
        return without_picture(page.ingest, page.title)
    shown, tab, later = page.shown, page.tab, page.later
    if tab == "role":
        role = role_panel(read_role_panel(shown.corpus, shown.state, shown.ingest), later)
        return _head(shown, tab, [*role, *end_of_role.draw(shown, later.get(end_of_role.part.name))])
    draw = others[tab] if tab in others else PANELS[tab][1]
    return _head(shown, tab, [*draw(shown), *later.values()])


def choices_of_head(page: HeadPage | NoPicture) -> Choices:
    """The value of the choice of tabs: the open tab."""
    return {} if isinstance(page, NoPicture) else {"tab": page.tab}, {}


def _head(shown: ShownPoints, tab: str, drawn: list[object]) -> Page:
    title = html.H1(f"Queries and keys of {head_name(shown.state.layer, shown.state.head)}{pinned_name(shown.state)}")
    choices = [_neighbours(shown.corpus, shown.state), _choices(shown.corpus, shown.state), pin_links(shown.state)]
    return Page(
        above=[
            html.Div([title, *choices], className="title-row"),
            *_does(shown),
            *around_picture(shown, head=True),
            *_typed(shown.state),
        ],
        beside=_tabs(tab, drawn),
        below=_below(shown),
        notices=shown.notices,
    )


def _does(shown: ShownPoints) -> list[object]:
    """A line on what the head does, for windows with the tabs below the picture; nothing where roles are unknown."""
    layer, head = shown.state.layer, shown.state.head
    if known_shares(shown.corpus) is None:
        return []
    does = what_it_does(shares_of_head(shown.corpus, layer, head))
    return [html.P(f"{head_name(layer, head)} {does}", className="head-does")]


def _below(shown: ShownPoints) -> list[object]:
    corpus, state = shown.corpus, shown.state
    path = f"points/{shown.view}/{state.layer}/{state.head}"
    return [
        marks_legend(shown),
        *_named_clusters(shown),
        _how_to_read_head(),
        sample_caption(shown),
        *scale_caption(shown),
        *_fidelity(shown),
        file_links(data_link(corpus), "The drawn points", path, {"tokens": str(shown.tokens)}),
        *hit_table(corpus, state, shown.selection.q, shown.hits),
    ]


def _fidelity(shown: ShownPoints) -> list[object]:
    """The fidelity of the picture of each shown head."""
    heads = shown.state.shown_heads
    names = [f" of {head_name(*head)}" if len(heads) > 1 else "" for head in heads]
    return [
        head_fidelity_caption(shown.corpus, shown.view, *head, of=name) for head, name in zip(heads, names, strict=True)
    ]


def _tabs(tab: str, drawn: list[object]) -> list[object]:
    """The tabs, the open one with what is drawn in it."""
    names = [dmc.TabsTab(title, value=name) for name, title in TITLES.items()]
    panel = dmc.TabsPanel(drawn, value=tab, pt="sm")
    tabs = dmc.Tabs([dmc.TabsList(names), panel], id={"choose": "tab", "by": "tabs"}, value=tab)
    return [*_inspector_frame(), html.Div(tabs, className="inspector")]


def _inspector_frame() -> list[object]:
    """The border that resizes the tabs, and the button that hides them (assets/web/room.mjs)."""
    border: Any = {"aria-orientation": "vertical", "aria-label": "Border of the tabs", "aria-valuenow": INSPECTOR}
    turn: Any = {"aria-label": "Show or hide the tabs"}
    return [
        html.Div(role="separator", tabIndex=0, className="inspector-border", **border),
        html.Button("", type="button", className="inspector-turn", title="Show or hide the tabs", **turn),
    ]


def _named_clusters(shown: ShownPoints) -> list[html.Details]:
    """A closed table of the named clusters of each head, for readers who cannot hover, and for names without room."""
    if not (shown.state.clusters and is_plane(shown.view)):
        return []
    corpus, view, tokens = shown.corpus, shown.view, shown.tokens
    return [
        clusters_table(head_name(*head), clusters_of_head(corpus, view, tokens, *head))
        for head in shown.state.shown_heads
    ]


def clusters_table(name: str, found: Sequence[Cluster]) -> html.Details:
    """The table of the clusters of a head."""
    summary = html.Summary(f"{name}: {many(len(found), 'named cluster')}")
    body = html.Tbody([_cluster_row(cluster) for cluster in found])
    return html.Details(
        [summary, html.Table([heading(CLUSTER_COLUMNS, CLUSTER_COLUMNS[2:]), body], className="rows narrow")]
    )


def _cluster_row(cluster: Cluster) -> html.Tr:
    numbers = f"{cluster.points:,}", f"{100 * cluster.points / cluster.of:.1f}%"
    names = html.Td(html.Bdi(cluster.name)), html.Td(ROLES[cluster.role])
    return html.Tr([*names, *(html.Td(number, className="number") for number in numbers)])


def _typed(state: LinkState) -> list[object]:
    """A line on the typed sentence in the picture; nothing without one."""
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
    text = "Hover a point to see its word; click it to draw its attention."
    return html.P([text, info("the picture", _KEYS_OF_HEAD), noted_legend()], className="caption")


def _neighbours(corpus: Corpus, state: LinkState) -> html.Nav:
    """Links to the neighbouring heads; disabled at the ends of the model."""
    steps = (
        ("←", "previous head", 0, -1),
        ("→", "next head", 0, 1),
        ("↑", "previous layer", -1, 0),
        ("↓", "next layer", 1, 0),
    )
    links = [_neighbour(corpus, state, *step) for step in steps]
    return html.Nav(links, className="neighbours", **{"aria-label": "Neighbouring heads"})


def _neighbour(corpus: Corpus, state: LinkState, arrow: str, direction: str, layers: int, heads: int) -> object:
    other = step(state, layers, heads, corpus.layers, corpus.heads)
    if other == state:
        return html.Span(arrow, className="neighbour", **{"aria-disabled": "true"})
    title = f"{direction}: {head_name(other.layer, other.head)}"
    return neighbour(arrow, title, other.with_(at=None).href)


def step(state: LinkState, layers: int, heads: int, last_layer: int, last_head: int) -> LinkState:
    """The link to the head that is `layers` and `heads` further, within the model."""
    layer = max(0, min(state.layer + layers, last_layer - 1))
    head = max(0, min(state.head + heads, last_head - 1))
    return state.with_(layer=layer, head=head)


def _choices(corpus: Corpus, state: LinkState) -> html.Div:
    """Choices of the head and of the number of tokens."""
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


def tab_of(corpus: Corpus, state: LinkState) -> str:
    """The tab of the link; else Point with a clicked point, Selection with a selection, Role where the store has roles, or Statistics."""
    if state.tab:
        return state.tab
    if state.token is not None:
        return "point"
    if state.lasso or state.where:
        return "selection"
    return "role" if has_roles(corpus) else "statistics"


HEADS = Topic(
    name="heads",
    title="Heads",
    letter="h",
    docs="pictures.md",
    layout=read_then_draw(read_heads, all_heads),
    links=PageLinks(shows_fields=True),
    picture=picture_of_heads,
    routes=(register,),
)


def head_topic(statistics: Panel, positions: Panel, end_of_role: EndOfRole) -> Topic[HeadPage | NoPicture]:
    """Page Head; topics above this one give the tabs `statistics` and `positions` and the end of tab Role."""
    others = {"statistics": statistics, "positions": positions}
    return Topic(
        name="head",
        title="Head",
        letter="d",
        docs="pictures.md",
        layout=read_then_draw(
            partial(read_head, end_of_role=end_of_role), partial(one_head, end_of_role=end_of_role, others=others)
        ),
        links=PageLinks(always=frozenset({"layer", "head"})),
        choices=choices_of_head,
        picture=picture_of_head,
        deferred=(SIMILAR, EVIDENCE, WORDPIECES, DICTIONARY, end_of_role.part),
        routes=(register_role_files,),
    )
