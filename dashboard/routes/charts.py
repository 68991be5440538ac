"""Routes of the data behind the charts."""

from flask import Flask, Response

from dashboard.library import Library
from dashboard.pictures.density import density
from dashboard.routes.request import BASE, ONE_HEAD, check_head, corpus_of
from dashboard.routes.response import lasting


def register(server: Flask, library: Library) -> None:
    """Add the routes."""

    @server.get(f"{BASE}/density/<normalization>/{ONE_HEAD}.csv")
    def density_table(snapshot: str, model: str, normalization: str, layer: int, head: int) -> Response:
        corpus = corpus_of(library, snapshot, model)
        check_head(corpus, layer, head)
        found = density(corpus, layer=layer, head=head, normalization=normalization)
        lines = ["dot_from,dot_to,distance_from,distance_to,pairs"]
        for row, counts in enumerate(found.counts):
            for column, count in enumerate(counts):
                ends = (*found.dots[row : row + 2], *found.distances[column : column + 2])
                lines.append(",".join(f"{end:.6g}" for end in ends) + f",{count}")
        response = Response("\n".join(lines) + "\n", mimetype="text/csv")
        response.headers["Content-Disposition"] = f'attachment; filename="density-{normalization}-L{layer}-H{head}.csv"'
        return lasting(response)
