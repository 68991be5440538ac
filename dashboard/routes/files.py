"""A table as a file to be saved."""

from collections.abc import Iterator

from flask import Response

from dashboard.pictures.exports import Table, as_csv, as_parquet
from dashboard.routes.response import lasting

#: The part of a URL that says which kind of file.
FORM = "<any(csv, parquet):form>"


def file(parts: Iterator[Table], name: str, form: str) -> Response:
    """The parts of a table, one under the other; `name` is the file's without its ending."""
    content = Response(as_csv(parts), mimetype="text/csv") if form == "csv" else Response(as_parquet(parts))
    if form == "parquet":
        content.mimetype = "application/vnd.apache.parquet"
    content.headers["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return lasting(content)
