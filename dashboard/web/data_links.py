"""Addresses of everything that a page fetches: bytes for the canvas, cards, files."""

from store import Corpus

#: Version of what the data routes answer: bytes, JSON, columns of files. Browsers keep an answer for a year under its
#: address, and this is all in there that says how it is to be read: whoever changes one raises it.
FORMAT = 1


def data_link(corpus: Corpus) -> str:
    """Where the addresses of a corpus begin."""
    return f"/data/{FORMAT}/{corpus.snapshot}/{corpus.name}"
