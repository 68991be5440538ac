"""Files of relations: every head at every relation, all heads at one, and the best heads."""

import re
from collections.abc import Mapping

import numpy as np
from flask import Flask, Response, abort, request
from numpy.typing import NDArray

from dashboard.relations.data import best_of, links_of
from dashboard.relations.found_words import coreference_table
from dashboard.statistics.data import head_columns
from dashboard.ui.files import FORM, Table, file
from dashboard.web.http import BASE, corpus_of
from dashboard.web.library import Library
from store import Corpus, StoreError
from store.kernels.relations import DIRECTIONS

#: Characters that a file's name does not take from a relation's.
_OTHER = re.compile(r"[^A-Za-z0-9_.]+")


def register(server: Flask, library: Library) -> None:
    """Add the routes."""

    @server.get(f"{BASE}/relations.{FORM}")
    def relations(snapshot: str, model: str, form: str) -> Response:
        corpus = corpus_of(library, snapshot, model)
        names = [str(name) for name in corpus.relations.relation.values]
        parts = (_heads_table(corpus, name, direction) for name in names for direction in DIRECTIONS)
        return file(parts, "relations", form)

    @server.get(f"{BASE}/relation.{FORM}")
    def relation(snapshot: str, model: str, form: str) -> Response:
        corpus = corpus_of(library, snapshot, model)
        name, direction = (request.args.get(field, "") for field in ("relation", "direction"))
        if direction not in DIRECTIONS:
            abort(404, f"There is no direction “{direction[:40]}”. Choose one of {', '.join(DIRECTIONS)}.")
        try:
            links_of(corpus, name)
        except StoreError as error:
            abort(404, str(error))
        return file(
            iter([_heads_table(corpus, name, direction)]), f"relation-{_OTHER.sub('-', name)}-{direction}", form
        )

    @server.get(f"{BASE}/best-heads.{FORM}")
    def best_heads(snapshot: str, model: str, form: str) -> Response:
        return file(iter([_best_table(corpus_of(library, snapshot, model))]), "best-heads", form)

    @server.get(f"{BASE}/uas.{FORM}")
    def uas(snapshot: str, model: str, form: str) -> Response:
        return file(iter([_uas_table(corpus_of(library, snapshot, model))]), "uas", form)

    @server.get(f"{BASE}/coreference.{FORM}")
    def coreference(snapshot: str, model: str, form: str) -> Response:
        return file(iter([coreference_table(corpus_of(library, snapshot, model))]), "coreference", form)


def _heads_table(corpus: Corpus, relation: str, direction: str) -> Table:
    """Every head at one relation in one direction."""
    cell = links_of(corpus, relation).sel(direction=direction)
    heads = corpus.layers * corpus.heads
    low, high = cell.interval.values
    return {
        "relation": np.full(heads, relation, object),
        "direction": np.full(heads, direction, object),
        **head_columns(corpus.layers, corpus.heads),
        "accuracy": cell.reported_accuracy.values.ravel(),
        "interval_low": low.ravel(),
        "interval_high": high.ravel(),
        "pairs": np.full(heads, int(cell.pairs[1])),
        "offset": np.full(heads, int(cell.offset)),
        "offset_accuracy": np.full(heads, float(cell.offset_accuracy)),
        "same_head_random_accuracy": cell.random_accuracy.values.ravel(),
    }


def _best_table(corpus: Corpus) -> Table:
    rows = best_of(corpus)
    columns: Mapping[str, NDArray[np.generic]] = {
        name: np.array([getattr(row, name) for row in rows], object if name in ("relation", "direction") else None)
        for name in (
            "relation",
            "direction",
            "layer",
            "head",
            "accuracy",
            "offset",
            "offset_accuracy",
            "pairs",
        )
    }
    low, high = np.array([row.interval for row in rows]).T
    random = np.array([row.random for row in rows])
    return {**columns, "best_random_head_accuracy": random, "interval_low": low, "interval_high": high}


def _uas_table(corpus: Corpus) -> Table:
    """UAS of every method and decoding that there is."""
    cells = corpus.uas.stack(cell=("approach", "decoding")).dropna("cell", subset=["uas"])
    low, high = cells.interval.transpose("bound", "cell").values
    return {
        "method": cells.approach.values.astype(object),
        "decoding": cells.decoding.values.astype(object),
        "uas": cells.uas.values,
        "interval_low": low,
        "interval_high": high,
    }
