"""Routes of files: drawn points, or the selected ones of them, and what stands beside a head, as CSV or Parquet."""

import numpy as np
from flask import Flask, Response

from dashboard.points.density import density, density_table
from dashboard.points.exports import tables, tables_of_heads
from dashboard.points.pairs import strongest_pairs
from dashboard.points.selection import Selection, mask
from dashboard.statistics.statistics import head_table
from dashboard.web.files import FORM, file, large_file
from dashboard.web.library import Library
from dashboard.web.request import BASE, ONE_HEAD, check_head, corpus_of, grid_of, head_of, selection_of


def register(server: Flask, library: Library) -> None:
    """Add the routes."""

    @server.get(f"{BASE}/<any(points, selection):what>/<view>/{ONE_HEAD}.{FORM}")
    def one_head(snapshot: str, model: str, what: str, view: str, layer: int, head: int, form: str) -> Response:
        drawn = head_of(library, snapshot, model, layer, head)
        drawn.corpus.view(view)  # a wrong name is said before the first byte is sent
        selected = mask(drawn, selection_of(drawn.corpus) if what == "selection" else Selection())[0]
        return large_file(tables(drawn, view, selected), f"{what}-{view}-L{layer}-H{head}", form)

    @server.get(f"{BASE}/points/<view>/grid.{FORM}")
    def every_head(snapshot: str, model: str, view: str, form: str) -> Response:
        drawn = grid_of(library, snapshot, model)
        drawn.corpus.view(view)
        return large_file(tables_of_heads(drawn, view), f"points-{view}", form)

    @server.get(f"{BASE}/<any(pairs, statistics):what>/{ONE_HEAD}.{FORM}")
    def beside(snapshot: str, model: str, what: str, layer: int, head: int, form: str) -> Response:
        corpus = corpus_of(library, snapshot, model)
        check_head(corpus, layer, head)
        rows = (
            [vars(pair) for pair in strongest_pairs(corpus, layer, head)]
            if what == "pairs"
            else head_table(corpus, layer, head)
        )
        table = {name: np.array([row[name] for row in rows]) for name in rows[0]} if rows else {}
        return file(iter([table]), f"{what}-L{layer}-H{head}", form)

    @server.get(f"{BASE}/density/<normalization>/{ONE_HEAD}.{FORM}")
    def density_of_head(snapshot: str, model: str, normalization: str, layer: int, head: int, form: str) -> Response:
        corpus = corpus_of(library, snapshot, model)
        check_head(corpus, layer, head)
        found = density(corpus, layer=layer, head=head, normalization=normalization)
        return file(iter([density_table(found)]), f"density-{normalization}-L{layer}-H{head}", form)
