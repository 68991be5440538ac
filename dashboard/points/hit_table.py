"""Sentences that a search finds in the whole corpus, each a link to its token in a head."""

from dash import dcc, html

from dashboard.points.chosen import Chosen
from dashboard.points.search import Sentence
from dashboard.ui.tables import heading
from dashboard.web.view import Place


def hit_table(place: Place, chosen: Chosen) -> list[object]:
    """The first sentences of a search; nothing without one."""
    if not chosen.selection.q:
        return []
    found = chosen.hits
    if not found.sentences:
        return []
    rows = [_row(place, sentence) for sentence in found.rows]
    shown = (
        f"the first {len(rows)} of {found.sentences:,}" if found.sentences > len(rows) else f"all {found.sentences:,}"
    )
    head = heading(("sentence", "token", "label", "text"), {"sentence", "token"})
    return [
        html.H2(f"Sentences with “{chosen.selection.q}”: {shown}"),
        html.Div(
            html.Table([head, html.Tbody(rows)], className="rows"),
            className="scroll",
            tabIndex=0,
            role="region",
            **{"aria-label": "Sentences found"},
        ),
    ]


def _row(place: Place, sentence: Sentence) -> html.Tr:
    address = place.address.with_(page="head", token=sentence.token, tab="point", at=None)
    text = [html.Mark(part) if marked else part for part, marked in sentence.parts]
    return html.Tr(
        [
            html.Td(
                dcc.Link(
                    f"{sentence.sentence:,}",
                    href=place.address.of_sentence(sentence.sentence).href,
                    title="Show the sentence in all heads",
                ),
                className="number",
            ),
            html.Td(
                dcc.Link(f"at {sentence.position}", href=address.href, title="Show it in a head"), className="number"
            ),
            html.Td(sentence.label),
            html.Td(text),
        ]
    )
