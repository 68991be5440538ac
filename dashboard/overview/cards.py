"""Cards of the clearest heads: the picture of the head beside one sentence with the lines of its attention."""

from typing import Any
from urllib.parse import quote

import numpy as np
from dash import dcc, html
from dash.development.base_component import Component
from numpy.typing import NDArray

from dashboard.overview.kinds import MOST, KindExample, examples_of
from dashboard.statistics.kinds import BEHAVIOURS, Kind, kinds_of
from dashboard.ui.markup import FOLLOWED
from dashboard.ui.text import all_of, spell, unbroken
from dashboard.web.context import Context
from dashboard.web.http import data_link
from dashboard.web.results import cached
from store import Corpus
from store.schema.model import head_name

#: Pixels of a token's line, of the space in which lines of attention run, and of the picture of a head.
LINE, ACROSS, PICTURE = 20, 44, 84
#: Tokens drawn in the picture of a head.
DRAWN = 4_000
CAPTION = (
    "Left: queries (blue) and keys (orange) of the head. Right: its attention in a typical sentence, queries to keys."
)
#: Smallest attention weight that is drawn as a line.
LEAST = 0.05


def example_cards(context: Context) -> list[object]:
    """One card for each kind of heads."""
    examples = examples_of(context.corpus)
    cards: list[Any] = [_card(context, example.kind, _sentence(context, example)) for example in examples]
    return [html.Ul(cards, className="cards")]


def cards_outline(context: Context) -> list[object]:
    """The cards before their sentences are found."""
    sentence = html.Div(className="skeleton lines")
    cards: list[Any] = [_card(context, kind, sentence) for kind in kinds_of(context.corpus)]
    return [html.Ul(cards, className="cards")]


def _card(context: Context, kind: Kind, sentence: Component) -> html.Li:
    layer, head = kind.heads[0]
    return html.Li(
        [
            html.H3(
                [
                    head_link(context, layer, head),
                    html.Span(BEHAVIOURS[kind.label].replace("attend", "attends")),
                ]
            ),
            html.P(f"Mean {kind.title}: {unbroken(spell(kind.values[0], 'share'))}.", className="evidence"),
            html.Div([picture_of_head(context, layer, head, PICTURE), sentence], className="pair-of"),
        ],
        className="card",
    )


def head_link(context: Context, layer: int, head: int) -> dcc.Link:
    """The name of a head, a link to its page."""
    return dcc.Link(head_name(layer, head), href=context.state.on("head").with_(layer=layer, head=head).href)


def picture_of_head(context: Context, layer: int, head: int, side: int) -> Component:
    """The points of a head as an image for each colour scheme, a link to its page; nothing before there is a picture."""
    corpus = context.corpus
    if not corpus.views:
        return html.Div(className="no-picture")
    url = f"{data_link(corpus)}/raster/{context.view}/{layer}/{head}.png?tokens={DRAWN}&side={side}"
    drawn = min(DRAWN, corpus.n_tokens)
    alt = f"Queries and keys of {head_name(layer, head)}, {drawn:,} of {all_of(corpus, 'token')}"
    images = [_image(url, scheme, alt, side) for scheme in ("light", "dark")]
    href = context.state.on("head").with_(layer=layer, head=head).href
    return dcc.Link(images, href=href, className="head-picture")


def _image(url: str, scheme: str, alt: str, side: int) -> html.Span:
    """A background: browsers do not fetch that of an element which the other scheme hides."""
    named: Any = {"aria-label": alt, "role": "img"}
    style = {"backgroundImage": f'url("{url}&scheme={scheme}")', "width": side, "height": side}
    return html.Span(className=f"only-{scheme}", style=style, **named)


def _sentence(context: Context, example: KindExample) -> html.A:
    """The sentence with lines from queries to keys; a link to the page Sentence."""
    layer, head = example.head
    corpus = context.corpus
    tokens = corpus.wordpieces(corpus.sentence_rows(example.typical))[:MOST]
    pattern = _pattern(corpus, example.typical, layer, head)[:MOST, :MOST]
    link = context.state.of_sentence(example.typical, layer=layer, heads=str(head), head=head).href
    height = LINE * len(tokens)
    lines: Any = {"maskImage": f'url("{attention_lines(pattern)}")', "height": height, "width": ACROSS}
    columns = [
        html.Div([html.Span(token) for token in tokens], className="column query"),
        html.Div(style=lines, className="lines"),
        html.Div([html.Span(token) for token in tokens], className="column key"),
    ]
    label: Any = {"aria-label": f"Attention of {head_name(layer, head)} in sentence {example.typical:,}", FOLLOWED: ""}
    return html.A(html.Div(columns, className="mini-lines"), href=link, className="of-sentence", **label)


@cached
def _pattern(corpus: Corpus, sentence: int, layer: int, head: int) -> NDArray[np.float32]:
    pattern: NDArray[np.float32] = corpus.weights(sentence, layer=layer, head=head)
    return pattern


def attention_lines(pattern: NDArray[np.floating]) -> str:
    """Lines from each query (left) to the keys (right) it attends to, the stronger the more opaque: an SVG as a data URL.

    `pattern` (query_token, key_token). The page colours it: it is used as a mask.
    """
    rows, columns = np.nonzero(pattern >= LEAST)
    height = LINE * max(pattern.shape)
    lines = "".join(
        f'<line x1="0" y1="{LINE * (row + 0.5):g}" x2="{ACROSS}" y2="{LINE * (column + 0.5):g}" '
        f'stroke-opacity="{pattern[row, column]:.2f}"/>'
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    )
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {ACROSS} {height}" width="{ACROSS}" height="{height}">'
        f'<g stroke="#000" stroke-width="2">{lines}</g></svg>'
    )
    return f"data:image/svg+xml,{quote(svg)}"
