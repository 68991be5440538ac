"""Files of the map of heads and of the divergence between every two of them."""

from flask import Flask, Response

from dashboard.head_map.data import divergence_table, map_table
from dashboard.ui.files import FORM, file
from dashboard.web.http import BASE, corpus_of
from dashboard.web.library import Library

_TABLES = {"divergence": divergence_table, "map": map_table}


def register(server: Flask, library: Library) -> None:
    """Add the routes."""

    @server.get(f"{BASE}/<any({', '.join(_TABLES)}):what>.{FORM}")
    def file_of_heads(snapshot: str, model: str, what: str, form: str) -> Response:
        return file(iter([_TABLES[what](corpus_of(library, snapshot, model))]), what, form)
