"""Page Head: one head, up to all tokens of the corpus, and tabs on the head, the clicked point and the selection."""

from collections.abc import Callable

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.canvas.spec import Picture
from dashboard.points import distance, pairs
from dashboard.points import focus as point
from dashboard.points import selection_summary as selection
from dashboard.points.captions import head_fidelity_caption, overlay_legend, overlays_of_head, sample_caption
from dashboard.points.controls import around_picture
from dashboard.points.picture import head_picture
from dashboard.points.search_results import hit_table
from dashboard.points.shown_points import ShownPoints
from dashboard.ui.page import Page, without_picture
from dashboard.ui.tables import file_links
from dashboard.web.state import MOST_TOKENS, Address
from dashboard.web.view import Place
from store.schema.model import head_name

#: Numbers of tokens to choose from.
TOKEN_CHOICES = (2_000, 20_000, 100_000, MOST_TOKENS)
#: Tab -> its title and layout, beside the tab Statistics.
PANELS = {
    "point": ("Point", point.panel),
    "selection": ("Selection", selection.panel),
    "pairs": ("Top pairs", pairs.panel),
    "distance": ("Distance", distance.panel),
}


def picture(place: Place) -> Picture:
    """The picture of one head."""
    return head_picture(place, _shown_points(place))


def layout(place: Place, statistics: Callable[[Place], list[object]]) -> Page:
    """The page of a link; `statistics` is the layout of the tab Statistics."""
    corpus, address = place.corpus, place.address
    name = head_name(address.layer, address.head)
    if not corpus.views:
        return without_picture(place, name)
    points = _shown_points(place)
    above = [
        html.Div([html.H1(f"Queries and keys of {name}"), _neighbours(place), _choices(place)], className="title-row"),
        *around_picture(place, points, head=True),
        *_typed(place),
    ]
    return Page(
        above=above, beside=_beside(place, points, statistics), below=_below(place, points), notices=points.notices
    )


def _shown_points(place: Place) -> ShownPoints:
    address = place.address
    tokens = min(address.tokens, place.corpus.n_tokens)
    return ShownPoints.of(place, tokens, layer=address.layer, head=address.head)


def _below(place: Place, points: ShownPoints) -> list[object]:
    address, tokens = place.address, points.drawn.tokens
    path = f"points/{place.view}/{address.layer}/{address.head}"
    return [
        *overlay_legend(overlays_of_head(address)),
        _how_to_read(),
        sample_caption(place, tokens),
        head_fidelity_caption(place.corpus, place.view, address.layer, address.head),
        file_links(place, "The drawn points", path, {"tokens": str(tokens)}),
        *hit_table(place, points),
    ]


def _beside(place: Place, points: ShownPoints, statistics: Callable[[Place], list[object]]) -> list[object]:
    """The tabs; only the layout of the open one is computed."""
    shown = tab_of(place.address)
    titles = {"statistics": "Statistics"} | {tab: title for tab, (title, _) in PANELS.items()}
    names = [dmc.TabsTab(title, value=tab) for tab, title in titles.items()]
    drawn = statistics(place) if shown == "statistics" else PANELS[shown][1](place, points)
    panel = dmc.TabsPanel(drawn, value=shown, pt="sm")
    return [dmc.Tabs([dmc.TabsList(names), panel], id={"choose": "tab", "by": "tabs"}, value=shown)]


def _typed(place: Place) -> list[object]:
    """A line on the typed sentence in the picture; nothing without one."""
    address = place.address
    if address.text is None or address.token is not None:
        return []
    name = html.Q(address.text, dir="auto")
    own = dcc.Link("open sentence", href=address.on("sentence").href)
    remove = dcc.Link("clear", href=address.with_(text=None, second=None).href)
    return [
        html.P(
            ["Your sentence ", name, " is shown with its strongest lines: ", own, ", ", remove, "."],
            className="caption",
        )
    ]


def _how_to_read() -> html.P:
    return html.P(
        "Hover a point for its token and sentence, click it for its lines. Wheel or + and - zoom, drag moves (rotates in 3D), 0 resets; "
        "zooming out returns to all heads; arrow keys open neighbouring heads; p, then Shift with arrow keys, steps through points.",
        className="caption",
    )


def _neighbours(place: Place) -> html.Nav:
    """Links to the neighbouring heads; disabled at the ends of the model."""
    steps = (
        ("←", "previous head", 0, -1),
        ("→", "next head", 0, 1),
        ("↑", "previous layer", -1, 0),
        ("↓", "next layer", 1, 0),
    )
    links = [_neighbour(place, *step) for step in steps]
    return html.Nav(links, className="neighbours", **{"aria-label": "Neighbouring heads"})


def _neighbour(place: Place, arrow: str, says: str, layers: int, heads: int) -> object:
    address = step(place.address, layers, heads, place.corpus.layers, place.corpus.heads)
    if address == place.address:
        return html.Span(arrow, className="neighbour", **{"aria-disabled": "true"})
    title = f"{says}: {head_name(address.layer, address.head)}"
    return dcc.Link(arrow, href=address.with_(at=None).href, className="neighbour", title=title)


def step(address: Address, layers: int, heads: int, last_layer: int, last_head: int) -> Address:
    """The address this many layers and heads further, within the model."""
    layer = max(0, min(address.layer + layers, last_layer - 1))
    head = max(0, min(address.head + heads, last_head - 1))
    return address.with_(layer=layer, head=head)


def _choices(place: Place) -> html.Div:
    """Choices of the head and of the number of tokens."""
    corpus, address = place.corpus, place.address
    options = [count for count in TOKEN_CHOICES if count < corpus.n_tokens]
    tokens = sorted({*options, min(corpus.n_tokens, TOKEN_CHOICES[-1]), min(address.tokens, corpus.n_tokens)})
    return html.Div(
        [
            _select("layer", "Layer", range(corpus.layers), address.layer, 80),
            _select("head", "Head", range(corpus.heads), address.head, 80),
            _select("tokens", "Tokens shown", tokens, min(address.tokens, corpus.n_tokens), 120),
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
    )


def tab_of(address: Address) -> str:
    """The tab of the link; without one, the tab of the clicked point or of the selection."""
    if address.tab:
        return address.tab
    if address.token is not None:
        return "point"
    return "selection" if address.lasso or address.where else "statistics"
