"""Bytes, cards and files by HTTP. Every URL names its snapshot, so a response never mixes two and never changes."""

from flask import Flask

from dashboard.library import Library
from dashboard.routes import charts, exports, pictures, sentences, tokens
from dashboard.routes.sentences import Typed


def register(server: Flask, library: Library, typed: Typed | None = None) -> None:
    """Add the data routes to the server; those of typed sentences where there is what makes them."""
    for part in (pictures, tokens, charts, exports):
        part.register(server, library)
    sentences.register(server, library, typed)
