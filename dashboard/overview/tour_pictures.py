"""Pictures of the tour, as SVG in trees of `Markup`: a query, a key and their products as bars, and a sentence as every head reads it."""

import numpy as np
from numpy.typing import NDArray

from dashboard.ui.markup import Tree
from store.schema.model import head_name

#: Pixels of a row of bars: all of it, what its title takes, and its height.
WIDE, TITLE, HIGH = 560, 92, 44
#: Pixels of a head in the picture of all: its width, the space between two, and of one token.
CELL, GAP, LINE = 34, 8, 4
#: Pixels for the numbers of layers and heads.
MARGIN = 22
#: Weights from which on a line is drawn, and drawn strongly.
LEAST, STRONG = 0.15, 0.5


def vector_rows(query: str, key: str, asks: NDArray[np.floating], answers: NDArray[np.floating]) -> Tree:
    """The numbers of a query and of a key (channel,), and their products: bars above and below a line; titles name the tokens."""
    rows = (
        (f"query of {query}", asks, "query"),
        (f"key of {key}", answers, "key"),
        ("products", asks * answers, "ink"),
    )
    parts = [part for place, row in enumerate(rows) for part in _bars(place * (HIGH + 8), *row)]
    height = len(rows) * (HIGH + 8)
    named = f"Numbers of the query of {query}, of the key of {key}, and their products"
    return [
        "svg",
        {"viewBox": f"0 0 {WIDE} {height}", "className": "tour-vectors", "role": "img", "aria-label": named},
        *parts,
    ]


def _bars(top: float, title: str, numbers: NDArray[np.floating], kind: str) -> list[Tree]:
    """A row: its title, the line of zero, and a bar for each number, by the largest of the row."""
    middle, step = top + HIGH / 2, (WIDE - TITLE) / len(numbers)
    half = HIGH / 2 / max(float(np.abs(numbers).max()), float(np.finfo(np.float32).tiny))
    bars = [
        _rect(TITLE + place * step, middle - max(number, 0) * half, 0.75 * step, abs(number) * half, kind)
        for place, number in enumerate(numbers.tolist())
    ]
    zero = ["line", {"x1": TITLE, "y1": middle, "x2": WIDE, "y2": middle, "className": "zero"}]
    return [["text", {"x": 0, "y": middle + 4}, title], zero, *bars]


def _rect(x: float, y: float, width: float, height: float, kind: str) -> Tree:
    return [
        "rect",
        {"x": round(x, 1), "y": round(y, 1), "width": round(width, 1), "height": round(height, 1), "className": kind},
    ]


def every_head(weights: NDArray[np.floating], framed: tuple[int, int]) -> Tree:
    """The lines of every head, layers down and heads across; `weights` (layer, head, query_token, key_token)."""
    layers, heads, tokens = weights.shape[:3]
    across, down = CELL + GAP, LINE * tokens + GAP
    width, height = MARGIN + heads * across, MARGIN + layers * down
    names = [
        *(["text", {"x": 0, "y": MARGIN + (layer + 0.5) * down}, f"L{layer}"] for layer in range(layers)),
        *(["text", {"x": MARGIN + (head + 0.5) * across - GAP, "y": 12}, f"H{head}"] for head in range(heads)),
    ]
    cells = [
        _head(weights[layer, head], MARGIN + head * across, MARGIN + layer * down, (layer, head) == framed)
        for layer in range(layers)
        for head in range(heads)
    ]
    named = f"Attention of all heads in the sentence; {head_name(*framed)} is framed"
    return [
        "svg",
        {"viewBox": f"0 0 {width} {height}", "className": "tour-heads", "role": "img", "aria-label": named},
        *names,
        *cells,
    ]


def _head(weights: NDArray[np.floating], left: float, top: float, is_framed: bool) -> Tree:
    """The lines of a head as two paths, of strong and of weaker weights."""
    height = LINE * len(weights)
    box = {
        "x": -3,
        "y": -3,
        "width": CELL + 6,
        "height": height + 6,
        "rx": 3,
        "className": "framed" if is_framed else "cell",
    }
    strong = weights >= STRONG
    paths = [
        ["path", {"d": _lines(chosen), "className": kind}]
        for kind, chosen in (("weaker", (weights >= LEAST) & ~strong), ("strong", strong))
        if chosen.any()
    ]
    return ["g", {"transform": f"translate({left} {top})"}, ["rect", box], *paths]


def _lines(drawn: NDArray[np.bool_]) -> str:
    half = LINE // 2
    return "".join(
        f"M0 {LINE * row + half}L{CELL} {LINE * column + half}" for row, column in np.argwhere(drawn).tolist()
    )
