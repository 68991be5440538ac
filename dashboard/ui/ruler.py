"""Rulers of a long sentence: a strip of all its tokens or words with the window on it."""

from collections.abc import Sequence
from typing import Any

from dash import html

from dashboard.ui.controls import info
from dashboard.ui.markup import BrowserComponent
from store.text import WINDOW, Window

_ABOUT = (
    f"A long sentence is shown in windows of {WINDOW} tokens. The strip is the whole sentence; the darker a part of a strip of keys, the "
    "more attention the shown queries give it. Click a place to show it; arrow keys move by a quarter of a window, Page Up and Page Down "
    "by a window, Home and End to the ends. Every weight is of the softmax over the whole sentence."
)


class TokenRuler(BrowserComponent):
    """The strip of all tokens with the window on it, which a click or a key moves. Its JavaScript is in assets/web/ruler.mjs.

    Parameters
    ----------
    id
        Of the control of a field: its value is the first token.
    value
        What the link says; None where the window is chosen by the page.
    label
        What a screen reader calls it.
    first, size, tokens
        The first token of the window, how many a window has, and how many tokens there are.
    shades
        How dark each part of the strip is, 0 to 100, from the first token to the last; empty of a strip of one shade.
    """

    properties = ("id", "value", "label", "first", "size", "tokens", "shades")


def rulers_of(*rows: html.Div) -> html.Div:
    """The rows of `ruler`."""
    return html.Div([*rows], className="rulers")


def ruler(
    name: str,
    field: str,
    value: int | None,
    window: Window,
    *text: Any,
    shades: Sequence[int] = (),
    about: bool = True,
) -> html.Div:
    """A strip of all tokens with what it shows in words, and an (i) about it; `value` is what the field of the link holds."""
    said: list[Any] = [*text, *([" ", info("the windows", _ABOUT)] if about else [])]
    strip = TokenRuler(
        id={"choose": field, "by": "ruler"},
        value=value,
        label=f"{name}: first that is shown",
        first=window.first,
        size=WINDOW,
        tokens=window.tokens,
        shades=list(shades),
    )
    return html.Div([html.Span(name, className="ruler-name"), strip, html.Span(said, className="caption")])
