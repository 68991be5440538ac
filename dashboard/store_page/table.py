"""A table whose rows become blocks in a narrow window: every cell then has the title of its column in front."""

from collections.abc import Collection, Sequence
from typing import Any

from dash import html

from dashboard.ui.markup import heading


def stacked_table(titles: Sequence[str], rows: Sequence[Sequence[object]], numbers: Collection[str] = ()) -> html.Table:
    """The table; columns named in `numbers` are aligned as numbers are."""
    body = html.Tbody([html.Tr(_cells(titles, row, numbers)) for row in rows])
    return html.Table([heading(titles, numbers), body], className="rows stacked")


def _cells(titles: Sequence[str], row: Sequence[object], numbers: Collection[str]) -> list[html.Td]:
    return [_cell(title, content, title in numbers) for title, content in zip(titles, row, strict=True)]


def _cell(title: str, content: Any, is_number: bool) -> html.Td:
    named: dict[str, Any] = {"data-name": title}
    # In a narrow window title and content stand at the two sides: a content of several parts is one element.
    whole = html.Span(content) if isinstance(content, list) else content
    return html.Td(whole, className="number" if is_number else None, **named)
