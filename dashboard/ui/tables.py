"""Headings of tables, and links to the same numbers as files."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

_NOTHING: Mapping[str, str | None] = MappingProxyType({})


def heading(titles: Sequence[str], numbers: Collection[str] = ()) -> html.Thead:
    """One row of titles; those of `numbers` are aligned as numbers are."""
    return html.Thead(html.Tr([html.Th(title, className="number" if title in numbers else None) for title in titles]))


def scrolling(content: Component, label: str, kind: str = "scroll") -> html.Div:
    """What may be larger than the page in a box of its own, which a keyboard scrolls and a screen reader names."""
    named: Any = {"aria-label": label}
    return html.Div(content, className=kind, tabIndex=0, role="region", **named)


def file_links(files: str, what: str, path: str, query: Mapping[str, str | None] = _NOTHING) -> html.P:
    """Links to `what` as CSV and as Parquet; `files` begins the URLs of a corpus, `path` is the route's without its ending."""
    csv, parquet = (
        html.A(form, href=file_href(files, f"{path}.{form}", query), download="") for form in ("csv", "parquet")
    )
    return html.P([f"{what} as ", csv, " or ", parquet, "."], className="caption")


def file_href(files: str, path: str, query: Mapping[str, str | None] = _NOTHING) -> str:
    """The URL of a file; `files` begins it (`http.data_link`), `path` is the route's; parameters that are None or empty are left out."""
    written = urlencode({name: value for name, value in query.items() if value})
    return f"{files}/{path}" + (f"?{written}" if written else "")


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
