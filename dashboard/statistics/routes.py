"""Routes of files of statistics: of all heads over the corpus or a part of it, of two heads, of one, of the layers."""

from urllib.parse import urlencode

from flask import Flask, Response
from flask import request as asked

from dashboard.points.exports import Table
from dashboard.sentence.positions import position_table
from dashboard.statistics.importance import importance_of
from dashboard.statistics.numbers import (
    divergence_table,
    expansion_table,
    grid_table,
    heads_table,
    map_table,
    mixing_table,
    profile_table,
    received_table,
)
from dashboard.statistics.part import Part, part_labels, part_of
from dashboard.statistics.part_counts import PartCounts
from dashboard.statistics.shown_grid import shown_grid
from dashboard.web.files import FORM, file
from dashboard.web.http import BASE, ONE_HEAD, check_head, corpus_of, source_of_means
from dashboard.web.library import Library
from dashboard.web.view import find
from store import Corpus

_OF_CORPUS = {"divergence": divergence_table, "map": map_table, "expansion": expansion_table}
_OF_HEAD = {"profile": profile_table, "received": received_table, "positions": position_table}


def register(server: Flask, library: Library) -> None:
    """Add the routes."""
    _of_parts(server, library)
    _of_wholes(server, library)


def _of_parts(server: Flask, library: Library) -> None:
    """Of the corpus or any part of it."""

    @server.get(f"{BASE}/statistics.{FORM}")
    def statistics_of_heads(snapshot: str, model: str, form: str) -> Response:
        corpus = corpus_of(library, snapshot, model)
        source, part = source_of_means(), _part(corpus)
        means = library.get(PartCounts).numbers(corpus, part).means
        labels = part_labels(corpus, part, means)
        table = heads_table(means.sel(source=source), labels, importance_of(corpus))
        return _file(table, f"statistics-{source}{_of_part(corpus, part)}", form)

    @server.get(f"{BASE}/heat-map.{FORM}")
    def heat_map(snapshot: str, model: str, form: str) -> Response:
        corpus = corpus_of(library, snapshot, model)
        place = find(library, "statistics", urlencode(asked.args.to_dict() | {"snapshot": snapshot, "model": model}))
        address = place.address
        part = part_of(corpus, address.where)
        grid = shown_grid(place, library.get(PartCounts).numbers(corpus, part))
        name = f"{grid.kind}-{address.statistic}-{address.source}{_of_part(corpus, part)}"
        other = address.other if address.values == "difference" else None
        return file(iter([grid_table(grid.values, grid.kind)]), name, form, other)

    @server.get(f"{BASE}/mixing.{FORM}")
    def mixing_of_layers(snapshot: str, model: str, form: str) -> Response:
        corpus = corpus_of(library, snapshot, model)
        part = _part(corpus)
        return _file(
            mixing_table(library.get(PartCounts).numbers(corpus, part).mixing), f"mixing{_of_part(corpus, part)}", form
        )


def _of_wholes(server: Flask, library: Library) -> None:
    """Of the whole corpus or a head."""

    @server.get(f"{BASE}/<any({', '.join(_OF_CORPUS)}):what>.{FORM}")
    def file_of_corpus(snapshot: str, model: str, what: str, form: str) -> Response:
        return _file(_OF_CORPUS[what](corpus_of(library, snapshot, model)), what, form)

    @server.get(f"{BASE}/<any({', '.join(_OF_HEAD)}):what>/{ONE_HEAD}.{FORM}")
    def file_of_head(snapshot: str, model: str, what: str, layer: int, head: int, form: str) -> Response:
        corpus = corpus_of(library, snapshot, model)
        check_head(corpus, layer, head)
        return _file(_OF_HEAD[what](corpus, layer, head), f"{what}-L{layer}-H{head}", form)


def _part(corpus: Corpus) -> Part:
    """The part that the query string chooses; what chooses nothing is left out (the page has said so)."""
    return part_of(corpus, asked.args.get("where"), q=asked.args.get("q"), within=asked.args.get("within"))


def _of_part(corpus: Corpus, part: Part) -> str:
    """The end of the name of a file that is not of the whole corpus."""
    return "" if part.tokens == corpus.n_tokens else "-part"


def _file(table: Table, name: str, form: str) -> Response:
    return file(iter([table]), name, form)
