"""Small pictures made of HTML: shares as one bar, and the attention of a head in a sentence as lines between two columns of tokens."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np
from dash import html
from numpy.typing import NDArray

#: Pixels: height of a token's line, and width of the space for lines of attention.
LINE, ACROSS = 20, 44
#: Smallest attention weight that is drawn as a line.
LEAST_WEIGHT = 0.05
#: Characters of a drawing that a URL can hold.
_SAFE = " =/:,"
#: Smallest share that is written into its part of a bar.
WRITTEN = 0.12


def share_bar(shares: Mapping[str, float], kind: str = "part") -> html.Div:
    """Shares by name as one bar; its parts have the CSS classes `KIND-0`, `KIND-1`, ..., which colour them."""
    parts = [
        html.Span(
            f"{100 * share:.0f}%" if share >= WRITTEN else None,
            className=f"part {kind}-{number}",
            style={"width": f"{100 * share:.2f}%"},
            title=f"{name}: {100 * share:.1f}%",
        )
        for number, (name, share) in enumerate(shares.items())
    ]
    text = ", ".join(f"{name} {100 * share:.0f}%" for name, share in shares.items())
    label: Any = {"role": "img", "aria-label": text}
    return html.Div(parts, className="share-bar", **label)


def signed_bar(share: float) -> html.Div:
    """A bar for a share from -1 to 1, from the middle: to the right above 0, to the left below."""
    bar: Any = html.Span(className="lifts" if share >= 0 else "lowers", style={"width": f"{50 * abs(share):.1f}%"})
    return html.Div(bar, className="signed-bar")


def bar_legend(names: Sequence[str], kind: str = "part") -> html.P:
    """A legend with the names and colours of the parts of bars of a kind."""
    chips: list[Any] = [
        html.Span([html.Span(className=f"part {kind}-{number}"), name], className="chip")
        for number, name in enumerate(names)
    ]
    return html.P(chips, className="legend")


def sentence_lines(tokens: Sequence[str], drawn: Mapping[str, NDArray[np.floating]]) -> html.Div:
    """The tokens of a sentence twice, left as queries and right as keys, with lines from one to the other.

    `drawn` maps CSS classes of lines to the weights (query_token, key_token) that they show, the uppermost last.
    """
    height = LINE * len(tokens)
    lines = [
        html.Div(style={"maskImage": f'url("{attention_lines(weights)}")', "height": height}, className=kind)
        for kind, weights in drawn.items()
    ]
    columns = [
        html.Div([html.Span(token) for token in tokens], className="column query"),
        html.Div(lines, style={"height": height, "width": ACROSS}, className="lines"),
        html.Div([html.Span(token) for token in tokens], className="column key"),
    ]
    return html.Div(columns, className="mini-lines")


def attention_lines(pattern: NDArray[np.floating]) -> str:
    """Lines from each query (left) to the keys (right) it attends to, the stronger the more opaque: an SVG as a data URL.

    `pattern` (query_token, key_token). The page colours it: it is used as a mask.
    """
    rows, columns = np.nonzero(pattern >= LEAST_WEIGHT)
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
    return f"data:image/svg+xml,{quote(svg, safe=_SAFE)}"
