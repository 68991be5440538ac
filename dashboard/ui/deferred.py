"""A part of a page that takes long to count: the rest is shown meanwhile, and in its place stands that it is being counted."""

from collections.abc import Callable
from typing import Any

from dash import html

#: Room that is kept, so that what is below does not jump far.
HEIGHT = 220


def later(name: str, says: str, ready: bool, count: Callable[[], list[Any]]) -> html.Div:
    """The part itself where it is `ready`; else a place that the page's callback fills, by `name` (`pages.LATER`)."""
    if ready:
        return html.Div(count())
    return html.Div(html.P(says, className="caption"), id={"later": name}, role="status", style={"minHeight": HEIGHT})
