"""A plotly chart as a page shows it: quiet, with links that save it, and a sentence of what it says."""

from typing import Any

import plotly.graph_objects as go
from dash import dcc, html

_CONFIG: Any = {"displayModeBar": False, "showSendToCloud": False, "plotlyServerURL": ""}


def chart(
    figure: go.Figure,
    *,
    of: str,
    says: str,
    label: str,
    data: str | None = None,
    height: int = 300,
    opens: bool = False,
    turns: bool = False,
) -> list[object]:
    """The chart, and below it what it says; `data` is the URL of its numbers as CSV.

    A click in a chart that `opens` goes to the head it names. One that `turns` is of colours on white: on a dark page its
    lightness is turned round.
    """
    saves: list[Any] = [
        html.Button(form.upper(), id={"save": form, "of": of}, className="link") for form in ("png", "svg")
    ]
    links = [*saves, *([html.A("csv", href=data, download="")] if data else [])]
    between = [part for link in links for part in (", ", link)][1:]
    named: Any = {"id": {"opens": of}} if opens else {}
    graph = dcc.Graph(figure=figure, config=_CONFIG, style={"height": f"{height}px"}, **named)
    classes = " ".join(["chart", *(["opens"] if opens else []), *(["turns"] if turns else [])])
    return [
        html.Div(graph, id=of, className=classes, **_named(label)),
        html.P([says, "Save as ", *between, "."], className="caption"),
    ]


def _named(label: str) -> dict[str, Any]:
    return {"role": "img", "aria-label": label}
