"""Bytes, cards and files by HTTP. Every URL names its snapshot, so a response never mixes two and never changes."""

from flask import Flask

from dashboard.routes import (
    assets,
    comparison,
    exports,
    features,
    outdated,
    pages,
    pictures,
    sentences,
    statistics,
    tokens,
)
from dashboard.web.files import LIBRARY
from dashboard.web.library import Library


def register(server: Flask, library: Library) -> None:
    """Add the data routes to the server."""
    server.extensions[LIBRARY] = library
    for part in (
        assets,
        pictures,
        features,
        tokens,
        exports,
        statistics,
        sentences,
        comparison,
        pages,
        outdated,
    ):
        part.register(server, library)
