"""Links to files of what a panel shows."""

from dash import html

from dashboard.address import Place


def file_links(place: Place, what: str, path: str, asked: str = "") -> html.P:
    """`what` is said in front; `path` is the route's, without its ending."""
    base = f"/data/{place.snapshot.id}/{place.corpus.name}/{path}"
    csv, parquet = (html.A(form, href=f"{base}.{form}{asked}", download="") for form in ("csv", "parquet"))
    return html.P([f"{what} as ", csv, " or ", parquet, "."], className="caption")
