"""The head of a table: a number's title stands above its numbers."""

from collections.abc import Collection, Sequence

from dash import html


def heading(titles: Sequence[str], numbers: Collection[str] = ()) -> html.Thead:
    """One row of titles; those of `numbers` are aligned as numbers are."""
    return html.Thead(html.Tr([html.Th(title, className="number" if title in numbers else None) for title in titles]))
