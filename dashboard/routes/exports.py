"""Routes of files: the drawn points of a head, or the selected ones of them, as CSV or Parquet."""

from flask import Flask, Response

from dashboard.exports import as_csv, as_parquet, tables
from dashboard.library import Library
from dashboard.routes.request import BASE, ONE_HEAD, head_of, selection_of
from dashboard.routes.response import lasting
from dashboard.selection import Selection, mask


def register(server: Flask, library: Library) -> None:
    """Add the routes."""

    @server.get(f"{BASE}/<any(points, selection):what>/<view>/{ONE_HEAD}.<any(csv, parquet):form>")
    def export(snapshot: str, model: str, what: str, view: str, layer: int, head: int, form: str) -> Response:
        drawn = head_of(library, snapshot, model, layer, head)
        drawn.corpus.view(view)  # a wrong name is said before the first byte is sent
        selected = mask(drawn, selection_of(drawn.corpus) if what == "selection" else Selection())[0]
        parts = tables(drawn, view, selected)
        response = (
            Response(as_csv(parts), mimetype="text/csv")
            if form == "csv"
            else Response(as_parquet(parts), mimetype="application/vnd.apache.parquet")
        )
        name = f"{what}-{view}-L{layer}-H{head}.{form}"
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return lasting(response)
