"""What a request asks for, brought into bounds."""

from math import isfinite

from flask import abort
from flask import request as asked

from dashboard.canvas.encoding import GRID_TOKENS
from dashboard.points.drawn import Drawn
from dashboard.points.selection import FIELDS, Selection, parse_selection
from dashboard.ui.theme import Scheme
from dashboard.web.data_links import FORMAT
from dashboard.web.library import Library
from dashboard.web.state import MOST_TOKENS
from store import Corpus
from store.schema.model import SOURCES

#: Where every route begins.
BASE = f"/data/{FORMAT}/<snapshot>/<model>"
ONE_HEAD = "<int:layer>/<int:head>"
#: Lines of one token.
MOST_LINES = 20


def corpus_of(library: Library, snapshot: str, model: str) -> Corpus:
    """The corpus a URL names."""
    return library.snapshot(snapshot).corpus(model)


def grid_of(library: Library, snapshot: str, model: str) -> Drawn:
    """The tokens drawn in every head."""
    corpus = corpus_of(library, snapshot, model)
    return Drawn(corpus, min(bounded("tokens", GRID_TOKENS, GRID_TOKENS), corpus.n_tokens))


def head_of(library: Library, snapshot: str, model: str, layer: int, head: int) -> Drawn:
    """The tokens drawn in one head."""
    corpus = corpus_of(library, snapshot, model)
    check_head(corpus, layer, head)
    return Drawn(corpus, min(bounded("tokens", MOST_TOKENS, MOST_TOKENS), corpus.n_tokens), layer, head)


def check_head(corpus: Corpus, layer: int, head: int) -> None:
    """A sentence where the model has no such head."""
    if layer >= corpus.layers or head >= corpus.heads:
        abort(
            404,
            f"There is no head L{layer} H{head}; there are L0 to L{corpus.layers - 1} and H0 to H{corpus.heads - 1}.",
        )


def check_token(corpus: Corpus, token: int) -> None:
    """A sentence where the corpus has no such token."""
    if token >= corpus.n_tokens:
        abort(404, f"There is no token {token}; there are 0 to {corpus.n_tokens - 1}.")


def bounded(name: str, default: int, most: int, *, fewest: int = 1) -> int:
    """A whole number of the query string, `fewest` to `most`."""
    text = asked.args.get(name, "")
    return max(fewest, min(int(text), most)) if text.isascii() and text.isdigit() and len(text) < 12 else default


def share(name: str, default: float) -> float:
    """A number of the query string, 0 to 1."""
    try:
        number = float(asked.args.get(name, "")[:40])
    except ValueError:
        return default
    return max(0.0, min(number, 1.0)) if isfinite(number) else default


def selection_of(corpus: Corpus) -> Selection:
    """What the query string selects; what cannot be is left out (the page has said so)."""
    return parse_selection({name: asked.args.get(name, "") for name in FIELDS}, corpus)[0]


def source_of_means() -> str:
    """Over which rows the means are; a sentence where there are no such."""
    source = asked.args.get("source", SOURCES[0])
    if source not in SOURCES:
        abort(404, f"There are no means over the rows of “{source[:40]}”. Choose one of {', '.join(SOURCES)}.")
    return source


def scheme() -> Scheme:
    """Light, unless dark is asked for."""
    return "dark" if asked.args.get("scheme") == "dark" else "light"
