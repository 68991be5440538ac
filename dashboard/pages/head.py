"""Page Head: one head, up to all tokens of the corpus, with its statistics among all heads."""

from dataclasses import replace

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.address import Address, Place
from dashboard.captions import head_fidelity_caption, legend, sample_caption
from dashboard.point_panels import PointPanels
from dashboard.statistics import head_numbers
from dashboard.theme import PALETTE
from store.schema import head_name

#: Choices of how many tokens are drawn.
TOKEN_CHOICES = (2_000, 20_000, 100_000, 1_000_000)


def layout(place: Place) -> list[object]:
    """The page at a place."""
    corpus, address = place.corpus, place.address
    name = head_name(address.layer, address.head)
    if not corpus.views:
        return [
            html.H1(name),
            dmc.Alert("This model has no picture yet. Run `make ingest` to its end.", color="orange"),
        ]
    return [
        html.Div([html.H1(f"Queries and keys of {name}"), _neighbours(place), _choices(place)], className="title-row"),
        html.P(
            "Hover a point for its token and sentence, click to keep the card. Wheel or + and - zoom, drag pans, 0 or a double click resets; "
            "arrow keys go to the neighbouring heads.",
            className="how-to-read",
        ),
        html.Div([html.Div(_picture(place), className="picture"), _numbers(place)], className="beside"),
    ]


def _picture(place: Place) -> list[object]:
    corpus, address = place.corpus, place.address
    view, tokens = corpus.views[0], min(address.tokens, corpus.n_tokens)
    base = f"/data/{place.snapshot.id}/{corpus.name}"
    where = f"{view}/{address.layer}/{address.head}"
    name = head_name(address.layer, address.head)
    return [
        legend(),
        PointPanels(
            id="points",
            src=f"{base}/points/{where}.bin?tokens={tokens}",
            raster=f"{base}/raster/{where}.png?tokens={tokens}",
            card=f"{base}/token/{address.layer}/{address.head}/",
            columns=1,
            panels=[{"name": name, "says": ""}],
            label=f"Queries and keys of {name}",
            palette=PALETTE,
        ),
        sample_caption(place, view, tokens),
        head_fidelity_caption(corpus, view, address.layer, address.head),
    ]


def _neighbours(place: Place) -> html.Nav:
    """Links to the heads beside, above and below; none where the model ends."""
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
    return dcc.Link(arrow, href=address.href, className="neighbour", title=title)


def step(address: Address, layers: int, heads: int, last_layer: int, last_head: int) -> Address:
    """The address so many layers and heads on; it stays where the model ends."""
    layer = max(0, min(address.layer + layers, last_layer - 1))
    head = max(0, min(address.head + heads, last_head - 1))
    return replace(address, layer=layer, head=head)


def _choices(place: Place) -> html.Div:
    """Which head, and how many tokens of it."""
    corpus, address = place.corpus, place.address
    options = [count for count in TOKEN_CHOICES if count < corpus.n_tokens]
    tokens = sorted({*options, min(corpus.n_tokens, TOKEN_CHOICES[-1]), min(address.tokens, corpus.n_tokens)})
    return html.Div(
        [
            _select("choose-layer", "Layer", range(corpus.layers), address.layer, 80),
            _select("choose-head", "Head", range(corpus.heads), address.head, 80),
            _select("choose-tokens", "Tokens shown", tokens, min(address.tokens, corpus.n_tokens), 120),
        ],
        className="choices",
    )


def _select(name: str, label: str, values: range | list[int], value: int, width: int) -> dmc.Select:
    data = [{"value": str(option), "label": f"{option:,}"} for option in values]
    return dmc.Select(id=name, label=label, data=data, value=str(value), size="xs", w=width, allowDeselect=False)


def _numbers(place: Place) -> html.Section:
    """Every statistic of the head, and its rank among all heads."""
    numbers = head_numbers(place.corpus, place.address.layer, place.address.head)
    head = html.Thead(html.Tr([html.Th("mean over sentences"), html.Th("value"), html.Th("rank")]))
    body = html.Tbody(
        [
            html.Tr([html.Td(number.title, title=number.formula), html.Td(number.value), html.Td(number.rank)])
            for number in numbers
        ]
    )
    return html.Section(
        [
            html.H2("What it attends to"),
            dmc.Table([head, body], className="numbers"),
            html.P(
                f"Every row of all {place.corpus.n_sentences:,} sentences, each sentence weighs the same (Clark et al. 2019). Rank 1 is the largest.",
                className="caption",
            ),
        ],
        className="numbers-beside",
    )
