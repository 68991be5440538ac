"""Rulers of a long sentence on page Sentence and page Compare: its windows, and how much attention goes to keys outside of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dash import dcc, html
from numpy.typing import NDArray

from dashboard.sentence.picture import ShownSentence, is_mean, isolated_head
from dashboard.sentence.sentence import PatternOptions, Sentence, is_short, mean_rows
from dashboard.ui.markup import scrolling
from dashboard.ui.ruler import ruler, rulers_of
from dashboard.web.state import LinkState
from store.text import Window

Floats = NDArray[np.float32]
#: Parts of the strip at most, and shades of a part.
PARTS, SHADES = 240, 100


@dataclass(frozen=True)
class KeyRuler:
    """The window of the keys.

    Attributes
    ----------
    outside
        Share of the attention of the shown queries that goes to keys outside of the window, of all that are not hidden.
    shades
        How much of it goes to each part of the sentence, by square root: 0 to 100 is the largest.
    """

    window: Window
    outside: float
    shades: list[int]


@dataclass(frozen=True)
class Rulers:
    """The windows of a long sentence; `keys` is None in a view without keys, `where` the layer of a view of all."""

    state: LinkState
    queries: Window
    keys: KeyRuler | None
    where: str = ""


def read_rulers(shown: ShownSentence) -> Rulers | None:
    """The rulers of page Sentence; None where all tokens are shown."""
    state, (queries, keys) = shown.state, shown.windows
    if state.show == "mixing":
        of_tokens = Window.at(queries.first, len(shown.sentence.wordpieces))
        return None if of_tokens.is_whole else Rulers(state, of_tokens, None)
    if queries.is_whole and keys.is_whole:
        return None
    rows = mean_rows(shown.sentence, _shown_options(shown), **_heads_of(shown)).weights
    # Of all layers it would take as long as all thumbnails.
    where = f" in layer {state.layer}" if state.show == "model" else ""
    return Rulers(state, queries, key_ruler(rows, keys), where)


def key_ruler(weights: Floats, window: Window) -> KeyRuler:
    """The ruler of keys for weights (query, key) with every key, in the window or not."""
    received = weights.sum(axis=0, dtype=np.float64)
    total = float(received.sum())
    outside = 1 - float(window.of(received).sum()) / total if total else 0.0
    starts = np.arange(min(PARTS, len(received))) * len(received) // min(PARTS, len(received))
    parts = np.sqrt(np.maximum(np.add.reduceat(received, starts), 0))
    return KeyRuler(window, max(0.0, outside), np.rint(SHADES * parts / (parts.max() or 1)).astype(int).tolist())


def _shown_options(shown: ShownSentence) -> PatternOptions:
    """In the neuron view no token is hidden, and weights are attention."""
    window, keywindow = (of.first for of in shown.windows)
    return PatternOptions(window=window, keywindow=keywindow) if shown.state.show == "neuron" else shown.options


def _heads_of(shown: ShownSentence) -> dict[str, Any]:
    """Of which heads the shown weights are, as `mean_rows` takes them."""
    state = shown.state
    if state.show in ("head", "model"):
        heads = shown.drawn_heads if state.show == "head" else ()
        return {"mean": "heads", "layer": state.layer, "head": 0, "heads": heads}
    mean = state.mean if is_mean(state) else "none"
    return {"mean": mean, "layer": state.layer, "head": isolated_head(state), "heads": _chosen(shown)}


def _chosen(shown: ShownSentence) -> Sequence[int]:
    return shown.drawn_heads if shown.state.heads else ()


def draw_text(sentence: Sentence, content: Any) -> html.P | html.Div:
    """The text of a sentence; that of a long one in a box that scrolls."""
    text = html.P(content, className="sentence-text", dir="auto")
    return text if is_short(sentence) else scrolling(text, "The sentence", "scroll long-text")


def draw_rulers(rulers: Rulers | None) -> list[object]:
    """A strip for the queries and one for the keys, with what they show in words."""
    if rulers is None:
        return []
    state, queries, keys = rulers.state, rulers.queries, rulers.keys
    first = ruler("Queries" if keys else "Tokens", "window", state.window, queries, queries.name.capitalize())
    if keys is None:
        return [rulers_of(first)]
    follows = state.keywindow is None
    moved = [] if follows else ["; ", dcc.Link("follow the queries", href=state.with_(keywindow=None).href)]
    share = f"{keys.window.name.capitalize()}; {_percent(keys.outside)} of the queries' attention goes outside{rulers.where}"
    of_keys = ruler("Keys", "keywindow", state.keywindow, keys.window, share, *moved, shades=keys.shades, about=False)
    return [rulers_of(first, of_keys)]


def draw_ruler_of_both(
    state: LinkState, window: Window, weights: Sequence[Floats], names: Sequence[str]
) -> list[object]:
    """One strip for queries and keys of several weights (query, key) of these names; nothing where all tokens are shown."""
    if window.is_whole:
        return []
    outside = [
        f"{_percent(key_ruler(each, window).outside)} in {name}" for each, name in zip(weights, names, strict=True)
    ]
    text = f"{window.name.capitalize()}; of the attention of these tokens, {' and '.join(outside)} goes outside"
    shades = key_ruler(np.sum(weights, axis=0), window).shades
    return [rulers_of(ruler("Tokens", "window", state.window, window, text, shades=shades))]


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share >= 0.1 or not share else f"{100 * share:.1f}%"
