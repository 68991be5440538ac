"""The three largest changes between two models, in a line that stays in view below the header."""

from typing import Any

import numpy as np
from dash import dcc, html

from dashboard.compare.data import changes, ranked_heads, statistic_of
from dashboard.compare.names import LETTERS
from dashboard.compare.two_models import ModelPair
from dashboard.statistics.data import values_of
from dashboard.ui.text import spell
from dashboard.web.state import LinkState
from store import STATISTICS
from store.schema.model import head_name, varying_statistics

#: Listed changes.
LISTED = 3


def largest_changes(changes: html.Div) -> html.Div:
    """The line around `changes`, from `changed_most`."""
    title = html.Span("Largest changes", className="largest-title")
    named: Any = {"aria-label": "Largest changes"}
    return html.Div([title, changes], className="largest", role="group", **named)


def changed_most(state: LinkState, two: ModelPair) -> list[Any]:
    """Links to the heads that diverge most, or to the statistics where heads have no counterparts."""
    links = _heads(state, two) if two.same_heads else _statistics(state, two)
    return [html.Div(links, className="three")]


def _heads(state: LinkState, two: ModelPair) -> list[Any]:
    changed = changes(two, statistic_of(state), state.source)
    links = []
    for head in ranked_heads(changed, "divergence")[:LISTED]:
        most = changed.most_difference
        name = str(changed.most[head])
        shown = state.on("compare").with_(layer=head[0], head=head[1])
        number = f"{changed.divergence.mean[head]:.3f} nats"
        text = f"{STATISTICS[name].title} {_values(name, float(most.own[head]), float(most.other[head]))}"
        links.append(_link(head_name(*head), number, text, f"{shown.href}#pictures-of-both"))
    return links


def _statistics(state: LinkState, two: ModelPair) -> list[Any]:
    source = state.source
    means = {name: _means(two, name, source) for name in varying_statistics(source)}
    ranked = sorted(means, key=lambda name: -_size(two, name, source, means[name]))
    href = f"{state.href}#means-over-heads"
    links = []
    for name in ranked[:LISTED]:
        links.append(_link(STATISTICS[name].title, _values(name, *means[name]), "mean over heads", href))
    return links


def _means(two: ModelPair, name: str, source: str) -> tuple[float, float]:
    """The mean over all heads in each model."""
    own, other = (float(values_of(model.head_statistic, name, source).mean()) for model in (two.own, two.other))
    return own, other


def _size(two: ModelPair, name: str, source: str, means: tuple[float, float]) -> float:
    """The difference of the means in standard deviations among the heads of A, so that units compare."""
    among = float(np.std(values_of(two.own.head_statistic, name, source)))
    change = abs(means[1] - means[0])
    return change / among if among > 0 and np.isfinite(change) else 0.0


def _values(statistic: str, own: float, other: float) -> str:
    unit = STATISTICS[statistic].unit
    return f"{spell(own, unit)} → {spell(other, unit)}"


def _link(name: str, number: str, detail: str, href: str) -> dcc.Link:
    change = html.Div(detail, className="change")
    where = f"{name}: {number}, {detail}, from {LETTERS[0]} to {LETTERS[1]}"
    return dcc.Link([html.Div([html.Strong(name), " ", html.Span(number)]), change], href=href, title=where)
