"""How much of each token of a sentence comes from the others, layer by layer (Kobayashi et al. 2021)."""

import numpy as np
from dash import html
from numpy.typing import NDArray

from dashboard.sentence.picture import base_of, link
from dashboard.sentence.token_mixing import token_mixing
from dashboard.ui.charts import chart
from dashboard.web.view import Place
from store.schema import RATIOS


def sentence_mixing(place: Place) -> list[object]:
    """The chosen ratio as a figure, and the same as a table."""
    sentence, ratio = place.sentence, RATIOS[place.address.ratio]
    values = sentence.mixing[list(RATIOS).index(place.address.ratio)]
    says = f"{ratio.title[0].upper()}{ratio.title[1:]}: the share of a token's new vector that comes from other tokens: {ratio.formula}. "
    figure = chart(
        token_mixing(values, sentence.wordpieces),
        of="sentence-mixing",
        says=says,
        label="Mixing of each token by layer",
        data=f"{base_of(place)}/mixing.csv{link(place, {})}",
        height=150 + 34 * len(values),
        turns=True,
    )
    return [*figure, _table(values, sentence.wordpieces)]


def _table(values: NDArray[np.float32], wordpieces: tuple[str, ...]) -> html.Details:
    head = html.Thead(
        html.Tr([html.Th("token"), *(html.Th(f"L{layer}", className="number") for layer in range(len(values)))])
    )
    rows = [_row(piece, shares) for piece, shares in zip(wordpieces, values.T, strict=True)]
    table = html.Table([head, html.Tbody(rows)], className="rows")
    scroll = html.Div(table, className="scroll", tabIndex=0, role="region", **{"aria-label": "Mixing of each token"})
    return html.Details([html.Summary("The numbers"), scroll])


def _row(piece: str, shares: NDArray[np.float32]) -> html.Tr:
    numbers = [html.Td(f"{100 * share:.1f} %", className="number") for share in shares.tolist()]
    return html.Tr([html.Th(html.Bdi(piece)), *numbers])
