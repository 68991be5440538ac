"""The legend of what is drawn over the points: ring, lines, marks, lasso. Its colours are those of `assets/points/overlay.js`."""

from dash import html

from dashboard.web.state import Address
from store.schema import ROLES

RING, SENTENCE = ("ring", "clicked point"), ("sentence", "tokens of its sentence, larger")
LASSO = ("lasso", "lasso")


def over_head(address: Address) -> list[tuple[str, str]]:
    """What is drawn over the points of a head: the kind of each mark and what it means."""
    drawn: list[tuple[str, str]] = []
    if address.token is not None:
        others = "keys" if address.role == ROLES[0] else "queries"
        drawn += [RING, SENTENCE, ("near", f"highest-scoring {others} in the corpus")]
    elif address.text:
        drawn += [("sentence", "tokens of the typed sentence, larger")]
    if drawn:
        drawn.insert(len(drawn) - (address.token is not None), ("line", "attention weight: thicker is more"))
    if address.marks and address.token is not None:
        drawn.append(("pair", "marked pair"))
    return [*drawn, LASSO] if address.lasso else drawn


def over_feature(address: Address) -> list[tuple[str, str]]:
    """What is drawn over the tokens at one feature point; nothing over all points at once but a lasso."""
    drawn = (
        [RING, SENTENCE, ("near", "tokens with the nearest vectors")]
        if address.point and address.ftoken is not None
        else []
    )
    return [*drawn, LASSO] if address.flasso and address.point else drawn


def drawn_over(marks: list[tuple[str, str]]) -> list[html.P]:
    """The legend; nothing where nothing is drawn."""
    chips = [html.Span([html.Span(className=f"over {kind}"), meaning], className="chip") for kind, meaning in marks]
    return [html.P([html.Span("Over the points:"), *chips], className="legend over-points")] if chips else []
