"""Files of the map of heads and of the divergence between every two of them."""

import numpy as np
from flask import Flask, Response

from dashboard.statistics.data import head_columns
from dashboard.statistics.divergence import mean_divergence
from dashboard.ui.files import FORM, Table, file
from dashboard.web.http import BASE, corpus_of
from dashboard.web.library import Library
from store import Corpus


def register(server: Flask, library: Library) -> None:
    """Add the routes."""
    tables = {"divergence": _divergence_table, "map": _map_table}

    @server.get(f"{BASE}/<any({', '.join(tables)}):what>.{FORM}")
    def file_of_heads(snapshot: str, model: str, what: str, form: str) -> Response:
        return file(iter([tables[what](corpus_of(library, snapshot, model))]), what, form)


def _divergence_table(corpus: Corpus) -> Table:
    """Each two heads with their mean Jensen-Shannon divergence, in nats per token."""
    count = corpus.layers * corpus.heads
    heads = head_columns(corpus.layers, corpus.heads)
    first, second = np.triu_indices(count, 1)
    return {
        **{name: column[first] for name, column in heads.items()},
        **{f"other_{name}": column[second] for name, column in heads.items()},
        "divergence": mean_divergence(corpus).reshape(count, count)[first, second],
    }


def _map_table(corpus: Corpus) -> Table:
    """Where every head is on the map."""
    places = corpus.divergence["place"].values.reshape(corpus.layers * corpus.heads, -1)
    return {
        **head_columns(corpus.layers, corpus.heads),
        "label": corpus.head_labels.values.astype(object).ravel(),
        **dict(zip("xyz", places.T, strict=False)),
    }
