"""The tab Point: the sentence of the clicked point, its strongest weights, and the highest-scoring keys in the corpus."""

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.points.focus import Point, focus
from dashboard.points.picture import NEAR, marks
from dashboard.points.shown_points import ShownPoints
from dashboard.ui.controls import number
from dashboard.ui.tables import heading
from dashboard.web.state import MOST_TOP
from dashboard.web.view import Place

EMPTY = "Click a point in the picture (or press p, then Enter) for its sentence, strongest weights and highest-scoring keys."


def panel(place: Place, _chosen: ShownPoints) -> list[object]:
    """The tab Point."""
    address = place.address
    if address.token is None:
        return [html.H2("Point"), html.P(EMPTY)]
    point = Point(address.layer, address.head, address.role, address.token)
    point_focus: Any = focus(
        place.corpus, place.view, point, top=address.top, least=address.least, lines=address.lines, near=NEAR
    )
    return [
        html.H2(
            [
                "The ",
                html.Span(address.role, className=f"mark {address.role}"),
                f" of “{point_focus['pieces'][point_focus['position']]}”",
            ]
        ),
        _sentence(place, point_focus),
        _controls(place),
        _lines_table(place, point_focus),
        *_near_table(place, point_focus),
    ]


def _sentence(place: Place, point_focus: dict[str, Any]) -> html.P:
    """The wordpieces of its sentence, each a link to that token in the same role."""
    address, first = place.address, (place.address.token or 0) - point_focus["position"]
    pieces = [
        dcc.Link(
            piece,
            href=address.with_(token=first + position, marks=None).href,
            className=f"piece {address.role} here" if position == point_focus["position"] else "piece",
            title=f"position {position}",
        )
        for position, piece in enumerate(point_focus["pieces"])
    ]
    return html.P([part for piece in pieces for part in (piece, " ")], className="sentence-pieces")


def _controls(place: Place) -> html.Div:
    address = place.address
    other = "key" if address.role == "query" else "query"
    return html.Div(
        [
            number("top", "lines per token", address.top, 1, MOST_TOP, 1),
            number("least", "minimum weight", address.least, 0, 1, 0.01),
            dmc.SegmentedControl(
                id={"choose": "lines", "by": "point"},
                data=[{"value": "point", "label": "this token"}, {"value": "sentence", "label": "whole sentence"}],
                value=address.lines,
                size="xs",
            ),
            dcc.Link("open sentence", href=_sentence_link(place)),
            dcc.Link(f"show as {other}", href=address.with_(role=other).href),
            dcc.Link("clear", href=address.with_(token=None, marks=None, lines="point").href),
        ],
        className="controls",
    )


def _sentence_link(place: Place) -> str:
    """The page of its sentence, with the point selected."""
    corpus, address = place.corpus, place.address
    row = corpus.rows[address.token or 0]
    sentence, position = (int(corpus.tokens[name].values[row]) for name in ("sentence_index", "position"))
    return address.of_sentence(sentence, queries=str(position), heads=str(address.head)).href


def _lines_table(place: Place, point_focus: dict[str, Any]) -> html.Div:
    marked = [tuple(pair) for pair in marks(place.address.marks)]
    rows = [_line(place, point_focus, marked, *line) for line in point_focus["lines"]]
    if not rows:
        return html.Div(
            html.P(f"No weight in this sentence reaches {place.address.least:g}. Lower the minimum weight.")
        )
    head = heading(("query", "key", "weight", "show"), {"weight"})
    all_queries = ", all queries" if place.address.lines == "sentence" else ""
    title = f"Strongest weights in its sentence{all_queries}"
    return html.Div([html.H3(title), html.Table([head, html.Tbody(rows)], className="rows")])


def _line(
    place: Place, point_focus: dict[str, Any], marked: list[tuple[int, ...]], query: int, key: int, weight: float
) -> html.Tr:
    """A query, a key and their weight, with a link that shows or hides the pair in the picture."""
    pair = (query, key)
    others = [other for other in marked if other != pair]
    shown = others if pair in marked else [*marked, pair]
    text = ".".join("-".join(map(str, other)) for other in shown)
    mark = dcc.Link("hide" if pair in marked else "show", href=place.address.with_(marks=text or None).href)
    pieces = (f"{position}:{point_focus['pieces'][position]}" for position in pair)
    return html.Tr(
        [*[html.Td(piece) for piece in pieces], html.Td(f"{100 * weight:.1f} %", className="number"), html.Td(mark)]
    )


def _near_table(place: Place, point_focus: dict[str, Any]) -> list[object]:
    """The keys of a query, or the queries of a key, with the largest logits in the corpus."""
    role = "query" if place.address.role == "key" else "key"
    names = {"key": "keys", "query": "queries"}
    rows = [_near(place, role, near) for near in point_focus["near"]]
    head = heading((role, "logit", "sentence"), {"logit"})
    searched = "all" if point_focus["searched"] == point_focus["of"] else f"the first {point_focus['searched']:,} of"
    return [
        html.H3(f"Highest-scoring {names[role]} in the corpus"),
        html.Table([head, html.Tbody(rows)], className="rows"),
        html.P(
            f"By q.k / sqrt(channel), over {searched} {point_focus['of']:,} tokens; each wordpiece at most three times.",
            className="caption",
        ),
    ]


def _near(place: Place, role: str, near: dict[str, Any]) -> html.Tr:
    """A row of the table: a token, linked to it in this role."""
    link = dcc.Link(near["piece"], href=place.address.with_(token=near["token"], role=role, marks=None).href)
    where = f"{near['sentence']:,} at {near['position']}" + (" (its own)" if near["same_sentence"] else "")
    return html.Tr([html.Td(link), html.Td(f"{near['score']:.2f}", className="number"), html.Td(where)])
