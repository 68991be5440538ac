"""Links to files of what a panel shows."""

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import urlencode

from dash import html

from dashboard.web.http import data_link
from dashboard.web.view import Place

_NOTHING: Mapping[str, str | None] = MappingProxyType({})


def file_href(place: Place, path: str, asked: Mapping[str, str | None] = _NOTHING) -> str:
    """The URL of a file; `path` is the route's, `asked` its query string, of which None and "" are left out."""
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"{data_link(place.corpus)}/{path}" + (f"?{query}" if query else "")


def file_links(place: Place, what: str, path: str, asked: Mapping[str, str | None] = _NOTHING) -> html.P:
    """`what` is said in front; `path` is the route's, without its ending."""
    csv, parquet = (
        html.A(form, href=file_href(place, f"{path}.{form}", asked), download="") for form in ("csv", "parquet")
    )
    return html.P([f"{what} as ", csv, " or ", parquet, "."], className="caption")
